"""``nonoka sessions retry``."""

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


@click.command("retry", short_help="Take failed runs up again.")
@with_choice
@click.option("--here", is_flag=True, help="Work on it in this process, as nonoka run does; one ID only.")
@with_settings()
def command(*, settings: Settings, choice: Choice, here: bool) -> int:
    """Take failed runs up again, from where they failed: a worker does, or with --here this process.

    What was done stays done. Mend first what made it fail: nonoka sessions show ID says what that was.

    \b
      nonoka sessions retry 3f2a --here
      nonoka sessions retry --all --yes

    Exit status: 0, 1 if some could not be taken up (each is named) or not confirmed, 2 if none could: it has
    not failed, or ID names no session; with --here as of nonoka run.
    """
    return take_up(settings, choice, SignalKind.RETRY, refuse_retry, here=here)


def refuse_retry(session_id: str, status: SessionStatus, *, at_rest: bool) -> None:
    """Raise UsageError, saying what is the case, for a session that has not failed."""
    if status is SessionStatus.FAILED and at_rest:
        return
    if status is SessionStatus.FAILED:
        raise UsageError(
            f"session {session_id} is being taken up again already; see: nonoka sessions watch {session_id}"
        )
    what = (
        "is paused, it has not failed" if status is SessionStatus.PAUSED else f"is {status.value}: nothing failed"
    )
    raise UsageError(f"session {session_id} {what}; next: {next_steps(session_id, status)}")
