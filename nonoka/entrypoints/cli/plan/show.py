"""``nonoka plan show``: a plan file's steps in their order."""

from __future__ import annotations

import sys
from typing import Any

import click

from nonoka.agents.plan_document import document_of
from nonoka.agents.plan_file import plan_from_text
from nonoka.decisions.plan_graph import Graph, finally_graph_of, graph_of
from nonoka.entrypoints.cli.json_output import write_json
from nonoka.entrypoints.cli.plan.picture import mermaid, picture
from nonoka.entrypoints.cli.plan.reading import name_of, text_of
from nonoka.entrypoints.cli.screen import screen
from nonoka.records.plan import Plan


@click.command("show", short_help="Show a plan file's steps in their order.")
@click.argument("file", metavar="FILE|-")
@click.option(
    "--format",
    "form",
    type=click.Choice(["picture", "mermaid", "json"]),
    default="picture",
    show_default=True,
    help="Layers for people, a diagram for Markdown, or JSON.",
)
def command(*, file: str, form: str) -> int:
    """Show the steps of FILE (- reads stdin) in layers: each step waits for some of the layer above it.

    A step begins as soon as what it waits for has ended, whatever else is in its layer.

    \b
      nonoka plan show release.yaml
      nonoka plan show --format mermaid release.yaml >> README.md

    Exit status: 0 shown, 2 the plan has errors (as nonoka plan check tells them, but tools aren't looked at).
    """
    plan = plan_from_text(text_of(file), name_of(file))
    if form == "json":
        write_json(contract(plan), indent=2)
    elif form == "mermaid":
        sys.stdout.write(mermaid(plan))
    else:
        screen().write(picture(plan))
    return 0


def contract(plan: Plan) -> dict[str, Any]:
    """What ``--format json`` shows: the plan, its layers, and what each step waits for."""
    return {
        "name": plan.name,
        "layers": graph_of(plan).layers(),
        "finally_layers": finally_graph_of(plan).layers(),
        "waits_for": {**_waits_for(graph_of(plan)), **_waits_for(finally_graph_of(plan))},
        "plan": document_of(plan),
    }


def _waits_for(graph: Graph) -> dict[str, tuple[str, ...]]:
    return {step_id: graph.before(step_id) for step_id in graph.dependencies}
