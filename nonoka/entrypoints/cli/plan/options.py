"""The options of commands that start a plan, and what they come to. ``run`` and ``enqueue`` use this."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
from pydantic import JsonValue

from nonoka.errors import UsageError

Callback = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """A plan file, and the inputs that were given for it."""

    file: str
    texts: tuple[str, ...]
    input_file: str | None

    def inputs(self) -> dict[str, JsonValue]:
        """The values of the input file. Raises PlanInvalid, UsageError."""
        if self.input_file is None:
            return {}
        from nonoka.agents.plan_file import values_from_text
        from nonoka.entrypoints.cli.plan.reading import name_of, text_of

        return values_from_text(text_of(self.input_file), name_of(self.input_file))


def with_plan(callback: Callback) -> Callback:
    """The command has ``--plan``, ``--input``, ``--input-file``, and is called with ``plan``, None without one."""

    @functools.wraps(callback)
    def command(
        *args: Any, plan_file: str | None, inputs: tuple[str, ...], input_file: str | None, **given: Any
    ) -> Any:
        if plan_file is None and (inputs or input_file):
            raise UsageError("inputs are a plan's: name it with --plan FILE")
        choice = None if plan_file is None else PlanChoice(plan_file, inputs, input_file)
        return callback(*args, plan=choice, **given)

    for option in (
        click.option("--input-file", metavar="FILE", help="Inputs of the plan, as YAML or JSON."),
        click.option("--input", "inputs", metavar="NAME=VALUE", multiple=True, help="An input of the plan."),
        click.option("--plan", "plan_file", metavar="FILE", help="Run this plan (YAML or JSON, - reads stdin)."),
    ):
        command = option(command)
    return command
