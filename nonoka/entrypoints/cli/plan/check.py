"""``nonoka plan check``: all that is wrong with a plan file."""

from __future__ import annotations

import click

from nonoka.decisions.plan_check import unused_inputs
from nonoka.decisions.plan_graph import graph_of
from nonoka.entrypoints.cli.failures import say
from nonoka.entrypoints.cli.figures import counted
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.plan.reading import checked_plan, name_of
from nonoka.entrypoints.cli.screen import Span, screen
from nonoka.records.plan import Plan
from nonoka.settings import Settings


@click.command("check", short_help="Tell all that is wrong with a plan file.")
@click.argument("file", metavar="FILE|-")
@with_settings(of_new_sessions=("agent",))
def command(*, settings: Settings, file: str) -> int:
    """Check FILE (- reads stdin) as nonoka run --plan does before it stores anything.

    Each error is a line FILE:LINE: MESSAGE on stderr; all of them are told at once. Steps may name the built-in
    tools, and those of --agent.

    \b
      nonoka plan check release.yaml
      nonoka plan check --agent tools.py:helper release.yaml

    Exit status: 0 it can be run, 2 it can't.
    """
    plan = checked_plan(file, settings)
    for name in unused_inputs(plan):
        say(f"{name_of(file)}: note: nothing uses the input {name!r}")
    screen().write([Span("ok ", "good"), Span(f"{name_of(file)}: {summary(plan)}\n")])
    return 0


def summary(plan: Plan) -> str:
    """The plan in a line."""
    layers = len(graph_of(plan).layers())
    told = f"{plan.name}, {counted(len(plan.steps), 'step')} in {counted(layers, 'layer')}"
    return told + (f", {counted(len(plan.finally_steps), 'step')} at the end" if plan.finally_steps else "")
