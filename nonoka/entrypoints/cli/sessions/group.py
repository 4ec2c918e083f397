"""The group ``nonoka sessions``."""

from __future__ import annotations

import click

from nonoka.entrypoints.cli.lazy_group import LazyGroup

_HERE = "nonoka.entrypoints.cli.sessions"


@click.group(
    "sessions",
    cls=LazyGroup,
    homes={
        "list": f"{_HERE}.listing:command",
        "show": f"{_HERE}.show:command",
        "watch": f"{_HERE}.watch:command",
        "send": f"{_HERE}.send:command",
        "pause": f"{_HERE}.stopping:pause",
        "resume": f"{_HERE}.resume:command",
        "cancel": f"{_HERE}.stopping:cancel",
        "retry": f"{_HERE}.retry:command",
        "answer": f"{_HERE}.answer:command",
        "diff": f"{_HERE}.diff:command",
        "fork": f"{_HERE}.fork:command",
        "rollback": f"{_HERE}.rollback:command",
        "delete": f"{_HERE}.delete:command",
    },
    short_help="Look at sessions, and signal them.",
)
def group() -> None:
    """Look at sessions, and signal them. An ID may be any beginning of it that names one session.

    Signals are stored in the session's inbox: they reach it whichever process works on it, and are not lost
    if none does.
    """
