"""Whether a plan can be run as it is: every fault at once, each with its place. Called before a plan is stored."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from pydantic import JsonValue

from nonoka.decisions.json_schema import schema_faults
from nonoka.decisions.plan_fault import Fault, Path, nearest
from nonoka.decisions.plan_graph import LOOSE, Dependencies, Graph, step_dependencies
from nonoka.decisions.plan_inputs import input_faults
from nonoka.decisions.plan_reference_check import Known, reference_faults, when_faults
from nonoka.decisions.plan_references import INPUTS, RESERVED, references_in
from nonoka.decisions.plan_tool_check import argument_faults
from nonoka.decisions.plan_values import unstorable
from nonoka.errors import ExpressionInvalid, PlanInvalid
from nonoka.records.base import JsonObject
from nonoka.records.plan import Plan, Step

#: The parameter schemas of the tools that a plan may name.
KnownTools = Mapping[str, JsonObject]
#: Why an agent of this name can't be used; None if it can.
AgentComplaint = Callable[[str], str | None]

_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_KINDS = ("tool", "prompt", "agent")
#: What belongs to one kind of step only.
_BELONGS = {"args": "tool", "output": "prompt", "task": "agent"}
#: The fields that hold whatever their author likes.
_VALUES = ("name", "args", "prompt", "output", "task", "when", "for_each")


def check_plan(plan: Plan, tools: KnownTools | None = None, agents: AgentComplaint | None = None) -> list[Fault]:
    """All that is wrong with the plan, in its order; empty if it can be run.

    Without ``tools``, names of tools and their arguments aren't looked at; without ``agents``, agents aren't.
    """
    known = Known(
        steps=frozenset(step.id for step in plan.steps),
        finally_steps=frozenset(step.id for step in plan.finally_steps),
        inputs=frozenset(plan.inputs),
    )
    faults = [*_plan_faults(plan), *_input_faults(plan), *_id_faults(plan)]
    for place, step, in_finally in _placed(plan):
        faults += _kind_faults(step, place)
        faults += _dependency_faults(step, place, known, in_finally)
        faults += reference_faults(step, place, known, in_finally)
        faults += when_faults(step, place, known, in_finally)
        unfit = list(_value_faults(step, place))
        faults += [*unfit, *_for_each_faults(step, place)]
        faults += _output_faults(step, place)
        if tools is not None and step.tool is not None and not unfit:
            faults += argument_faults(step, step.tool, tools, place)
        if agents is not None and step.agent is not None and (why := agents(step.agent)):
            faults.append(Fault((*place, "agent"), why))
    faults += reference_faults(plan.outputs, ("outputs",), known, in_finally=False)
    faults += [Fault(path, f"outputs: {why}") for path, why in unstorable(plan.outputs, ("outputs",))]
    return [*faults, *_cycle_faults(plan)]


def demand_sound(plan: Plan, tools: KnownTools | None = None, agents: AgentComplaint | None = None) -> None:
    """The plan, which comes from no file, can be run. Raises PlanInvalid with all that is wrong and its path."""
    if faults := check_plan(plan, tools, agents):
        raise PlanInvalid([str(fault) for fault in faults])


def unused_inputs(plan: Plan) -> tuple[str, ...]:
    """The inputs that nothing in the plan refers to: no fault, but seldom meant."""
    used: set[str] = set()
    for step in (*plan.steps, *plan.finally_steps):
        used.update(_inputs_in([step.model_dump(mode="json")]))
    used.update(_inputs_in(plan.outputs))
    return () if "" in used else tuple(name for name in plan.inputs if name not in used)


def _inputs_in(value: JsonValue) -> Iterator[str]:
    """The names of the inputs that are referred to, "" for all of them at once."""
    for reference in references_in(value):
        if reference.head == INPUTS:
            yield str(reference.path[0]) if reference.path else ""


def _placed(plan: Plan) -> Iterator[tuple[Path, Step, bool]]:
    for place, step in enumerate(plan.steps):
        yield ("steps", place), step, False
    for place, step in enumerate(plan.finally_steps):
        yield ("finally", place), step, True


def _plan_faults(plan: Plan) -> Iterator[Fault]:
    if not plan.name.strip() or not plan.name.isprintable():
        yield Fault(("name",), "a plan's name is a line of text")
    if not plan.steps:
        yield Fault(("steps",), "a plan has at least one step")


def _input_faults(plan: Plan) -> Iterator[Fault]:
    for name, input_ in plan.inputs.items():
        if not _ID.fullmatch(name):
            yield Fault(
                ("inputs", name), f"input {name!r}: a name is made of A-Z a-z 0-9 _ -, a letter or _ first"
            )
        for wrong in input_faults(input_, input_.default) if not input_.required else ():
            yield Fault(("inputs", name, "default"), f"input {name!r}: its default {wrong}")


def _id_faults(plan: Plan) -> Iterator[Fault]:
    first: dict[str, Path] = {}
    for place, step, _ in _placed(plan):
        where = (*place, "id")
        if not _ID.fullmatch(step.id):
            yield Fault(where, f"step {step.id!r}: an id is 1 to 64 of A-Z a-z 0-9 _ -, a letter or _ first")
        elif step.id in RESERVED:
            yield Fault(where, f"step {step.id!r}: ${{{step.id}}} means something else; give it another id")
        elif step.id in first:
            yield Fault(where, f"step {step.id!r}: there is another of this id; ids are unique in a plan")
        first.setdefault(step.id, where)


def _kind_faults(step: Step, place: Path) -> Iterator[Fault]:
    kinds = [kind for kind in _KINDS if getattr(step, kind) is not None]
    if len(kinds) != 1:
        given = f"has {' and '.join(kinds)}" if kinds else "says nothing to do"
        yield Fault(place, f"step {step.id!r} {given}: give one of tool, prompt, agent")
    for field, kind in _BELONGS.items():
        if getattr(step, field) and kinds and kind not in kinds:
            yield Fault((*place, field), f"step {step.id!r}: {field} goes with {kind}, not with {kinds[0]}")
    if step.agent is not None and step.task is None:
        yield Fault((*place, "agent"), f"step {step.id!r}: an agent needs a task, the prompt it is given")
    if step.max_parallel is not None and step.for_each is None:
        yield Fault((*place, "max_parallel"), f"step {step.id!r}: max_parallel goes with for_each")


def _dependency_faults(step: Step, place: Path, known: Known, in_finally: bool) -> Iterator[Fault]:
    mine = known.finally_steps if in_finally else known.steps
    counted = Counter(name.removesuffix(LOOSE) for name in step.depends_on)
    for number, written in enumerate(step.depends_on):
        name, where = written.removesuffix(LOOSE), (*place, "depends_on", number)
        if in_finally and name in known.steps:
            yield Fault(where, f"step {step.id!r}: {name!r} has ended before any finally step; leave it out")
        elif name in known.finally_steps and not in_finally:
            yield Fault(where, f"step {step.id!r}: {name!r} is a finally step; it runs after all others")
        elif name not in mine:
            yield Fault(where, f"step {step.id!r}: depends_on names no step {name!r}{nearest(name, mine)}")
        elif counted[name] > 1 and counted.pop(name):
            yield Fault(where, f"step {step.id!r}: depends_on names {name!r} more than once")


def _value_faults(step: Step, place: Path) -> Iterator[Fault]:
    for field in _VALUES:
        for path, why in unstorable(getattr(step, field), (*place, field)):
            yield Fault(path, f"step {step.id!r}: {field} {why}")


def _for_each_faults(step: Step, place: Path) -> Iterator[Fault]:
    given = step.for_each
    if given is None or isinstance(given, list):
        return
    text = given.strip() if isinstance(given, str) else ""
    if not (text.startswith("${") and text == given and _is_one_reference(text)):
        yield Fault(
            (*place, "for_each"),
            f"step {step.id!r}: for_each is a list, or a reference to one and nothing else",
        )


def _is_one_reference(text: str) -> bool:
    try:
        return str(text).count("${") == 1 and text.endswith("}") and len(references_in(text)) == 1
    except ExpressionInvalid:
        return True  # told of as a reference


def _output_faults(step: Step, place: Path) -> Iterator[Fault]:
    if step.output is None or _has_references(step.output):
        return
    for path, message in schema_faults(step.output, (*place, "output")):
        told = Fault(path[len(place) + 1 :], message)
        yield Fault(path, f"step {step.id!r}: output is no JSON Schema: {told}")


def _has_references(value: JsonValue) -> bool:
    try:
        return bool(references_in(value))
    except ExpressionInvalid:
        return True


def _cycle_faults(plan: Plan) -> Iterator[Fault]:
    for key, steps in (("steps", plan.steps), ("finally", plan.finally_steps)):
        places = {step.id: place for place, step in enumerate(steps)}
        graph = Graph({step.id: _readable_dependencies(step) for step in steps})
        for cycle in graph.cycles():
            arrows = " -> ".join(cycle)
            yield Fault((key, places[cycle[0]]), f'steps wait for one another: {arrows} (-> is "waits for")')


def _readable_dependencies(step: Step) -> Dependencies:
    try:
        return step_dependencies(step)
    except ExpressionInvalid:
        return Dependencies(tuple(name.removesuffix(LOOSE) for name in step.depends_on))
