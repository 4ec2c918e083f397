"""``nonoka sessions resume``."""

from __future__ import annotations

import click

from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.sessions.choosing import Choice, with_choice
from nonoka.entrypoints.cli.sessions.taking_up import take_up
from nonoka.entrypoints.cli.statuses import next_steps
from nonoka.errors import UsageError
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.settings import Settings

_ENDED = (SessionStatus.COMPLETED, SessionStatus.FAILED, SessionStatus.CANCELLED)


@click.command("resume", short_help="Let paused sessions go on.")
@with_choice
@click.option("--here", is_flag=True, help="Work on it in this process, as nonoka run does; one ID only.")
@with_settings()
def command(*, settings: Settings, choice: Choice, here: bool) -> int:
    """Let paused sessions go on: a worker takes them up, or with --here this process does.

    With --here also one that was interrupted and that no worker has. One that failed wants
    nonoka sessions retry.

    \b
      nonoka sessions resume 3f2a --here
      nonoka sessions resume --all

    Exit status: 0, 1 if some could not be resumed (each is named) or not confirmed, 2 if none could: it has
    ended, or ID names no session; with --here as of nonoka run.
    """
    return take_up(settings, choice, SignalKind.RESUME, refuse_resume, here=here)


def refuse_resume(session_id: str, status: SessionStatus, *, at_rest: bool, plan: bool) -> None:
    """Raise UsageError for a session that has ended: there is nothing to resume."""
    if status in _ENDED and at_rest:
        raise UsageError(
            f"session {session_id} is {status.value}: there is nothing to resume; next: "
            f"{next_steps(session_id, status, plan=plan)}"
        )
