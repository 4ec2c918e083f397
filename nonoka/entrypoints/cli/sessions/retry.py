"""``nonoka sessions retry``."""

from __future__ import annotations

import click

from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.plan.edited import edited_plan
from nonoka.entrypoints.cli.plan.options import PlanChoice, with_plan
from nonoka.entrypoints.cli.sessions.choosing import Choice, with_choice
from nonoka.entrypoints.cli.sessions.taking_up import take_up
from nonoka.errors import UsageError
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.settings import Settings


@click.command("retry", short_help="Take failed runs up again.")
@with_choice
@with_plan
@click.option("--from", "begin_with", metavar="STEP", help="Of a plan: this step runs again, and all after it.")
@click.option("--here", is_flag=True, help="Work on it in this process, as nonoka run does; one ID only.")
@with_settings()
def command(
    *, settings: Settings, choice: Choice, plan: PlanChoice | None, begin_with: str | None, here: bool
) -> int:
    """Take failed runs up again, from where they failed: a worker does, or with --here this process.

    What was done stays done. Mend first what made it fail: nonoka sessions show ID says what that was.

    Of a plan the steps that failed run again, and all that wait for them; what else was completed stays. With
    --plan the edited FILE takes its place: what is new or has changed runs as well, and what waits for that.

    \b
      nonoka sessions retry 3f2a --here
      nonoka sessions retry 3f2a --from build
      nonoka sessions retry 3f2a --plan release.yaml
      nonoka sessions retry --all --yes

    Exit status: 0, 1 if some could not be taken up (each is named) or not confirmed, 2 if none could: it has
    not failed, or ID names no session; with --here as of nonoka run.
    """
    if (plan is not None or begin_with is not None) and len(choice.ids) != 1:
        raise UsageError("--from and --plan are for one plan: name the ID of its session alone")
    payload = {} if begin_with is None else {"from": begin_with}
    if plan is not None:
        payload |= edited_plan(settings, choice.ids[0], plan)
    return take_up(settings, choice, SignalKind.RETRY, refuse_retry, here=here, payload=payload)


def refuse_retry(session_id: str, status: SessionStatus, *, at_rest: bool, plan: bool) -> None:
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
    raise UsageError(f"session {session_id} {what}; see: nonoka sessions show {session_id}")
