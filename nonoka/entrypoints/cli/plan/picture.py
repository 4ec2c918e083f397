"""A plan as people look at it: its layers in the terminal, or a Mermaid diagram. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from nonoka.decisions.plan_graph import Graph, finally_graph_of, graph_of
from nonoka.decisions.plan_references import as_text
from nonoka.entrypoints.cli.figures import printable, shortened, width
from nonoka.entrypoints.cli.screen import Span
from nonoka.records.plan import Plan, PlanInput, Step

#: What a step does is told in so many characters.
DOES = 60


def picture(plan: Plan) -> list[Span]:
    """The plan's layers from top to bottom; the steps of one layer may run side by side."""
    spans = [Span(f"{printable(plan.name)}\n", "strong")]
    spans += [Span(f"  {line}\n", "dim") for line in _inputs(plan)]
    spans += _layers(plan.steps, graph_of(plan))
    if plan.finally_steps:
        spans.append(Span("finally, however the others ended\n", "dim"))
        spans += _layers(plan.finally_steps, finally_graph_of(plan))
    return spans


def mermaid(plan: Plan) -> str:
    """The plan as a Mermaid flowchart; a dotted arrow is a dependency that may have ended in any way."""
    named = {step.id: f"s{place}" for place, step in enumerate((*plan.steps, *plan.finally_steps))}
    lines = ["flowchart TD", *(f"  {_node(step, named)}" for step in plan.steps)]
    lines += _arrows(graph_of(plan), named)
    if plan.finally_steps:
        lines.append("  subgraph finally")
        lines += [f"    {_node(step, named)}" for step in plan.finally_steps]
        lines.append("  end")
        lines += _arrows(finally_graph_of(plan), named)
        lines += [f"  {named[leaf]} -.-> finally" for leaf in graph_of(plan).leaves]
    return "\n".join(lines) + "\n"


def does(step: Step) -> str:
    """What the step does, in a few words."""
    text = {"tool": step.tool, "prompt": f"prompt: {step.prompt}", "agent": f"agent {step.agent}: {step.task}"}
    return shortened(printable(" ".join(str(text[step.kind]).split())), DOES)


def _inputs(plan: Plan) -> Iterator[str]:
    for name, input_ in plan.inputs.items():
        told = f": {printable(input_.description)}" if input_.description else ""
        yield f"input {name} ({input_.type}{_default(input_)}){told}"


def _default(input_: PlanInput) -> str:
    if input_.required:
        return ""
    return f", default {shortened(printable(json.dumps(input_.default, ensure_ascii=False)), DOES)}"


def _layers(steps: Sequence[Step], graph: Graph) -> Iterator[Span]:
    by_id = {step.id: step for step in steps}
    wide = max((width(step.id) for step in steps), default=0)
    wide_does = max((width(does(step)) for step in steps), default=0)
    layers = graph.layers()
    digits = len(str(len(layers)))
    for number, layer in enumerate(layers, start=1):
        for place, step_id in enumerate(layer):
            step = by_id[step_id]
            yield Span(f"  {number if not place else '':>{digits}} {_edge(place, len(layer))} ", "dim")
            yield Span(step_id + " " * (wide - width(step_id)), "strong")
            rest = _rest(step, graph)
            padding = " " * (wide_does - width(does(step))) if rest else ""
            yield Span(f"  {does(step)}{padding}")
            yield Span(f"{rest}\n", "dim")


def _edge(place: int, size: int) -> str:
    if size == 1:
        return "──"
    return "┬─" if not place else "└─" if place == size - 1 else "├─"


def _rest(step: Step, graph: Graph) -> str:
    loose = graph.dependencies[step.id].loose
    before = [f"{name}?" if name in loose else name for name in graph.before(step.id)]
    parts = [f"after {', '.join(before)}"] if before else []
    if step.when is not None:
        parts.append(f"when {printable(step.when)}")
    if step.for_each is not None:
        parts.append(f"for each of {shortened(printable(as_text(step.for_each)), DOES)}")
    return "  " + ", ".join(parts) if parts else ""


def _node(step: Step, named: dict[str, str]) -> str:
    shape = ("[[", "]]") if step.for_each is not None else ("([", "])") if step.kind != "tool" else ("[", "]")
    return f'{named[step.id]}{shape[0]}"{step.id}<br/>{_quoted(does(step))}"{shape[1]}'


def _arrows(graph: Graph, named: dict[str, str]) -> Iterator[str]:
    for step_id in graph.dependencies:
        loose = graph.dependencies[step_id].loose
        for name in graph.before(step_id):
            yield f"  {named[name]} {'-.->' if name in loose else '-->'} {named[step_id]}"


def _quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
