"""The group ``nonoka plan``."""

from __future__ import annotations

import click

from nonoka.entrypoints.cli.lazy_group import LazyGroup

_HERE = "nonoka.entrypoints.cli.plan"


@click.group(
    "plan",
    cls=LazyGroup,
    homes={
        "check": f"{_HERE}.check:command",
        "show": f"{_HERE}.show:command",
        "schema": f"{_HERE}.schema:command",
    },
    short_help="Check and show plan files.",
)
def group() -> None:
    """Check and show plan files. Nothing is run, and nothing is stored.

    docs/plans.md says what a plan file holds.
    """
