"""What becomes of a claim that its worker can't finish, and of the calls that were in doubt.

Both are decided for calls whose processes have ended and whose workspace is rolled back: settling comes
first, under a raised fence.
"""

from __future__ import annotations

from collections.abc import Mapping

from nonoka.decisions.draft import Draft
from nonoka.decisions.inbox import answer_dangling, drain_into_history, wants_attention
from nonoka.decisions.overdue import answer_overdue
from nonoka.decisions.retry import MAX_DEATHS
from nonoka.decisions.settling import UNKNOWN_OUTCOME, settle_calls, tell_settled
from nonoka.decisions.transitions import SessionEvent, allows
from nonoka.decisions.turn import Failure, attend, fail_run, retry_later
from nonoka.records.event import EventType
from nonoka.records.runtime import RuntimeUsage
from nonoka.records.signal import SignalKind
from nonoka.records.tool import CallResult, SettledCall

#: What was done about the begun calls, by their places.
Settled = Mapping[int, SettledCall]
NO_CALLS: Settled = {}

GIVEN_UP = CallResult(content="not run: its worker died too often", error_type="worker_crashed")


def release_lost(draft: Draft, settled: Settled = NO_CALLS) -> None:
    """The worker died or froze: its calls are settled, and the task is ready again, or given up."""
    task = draft.view.task
    # A worker that ended for a tool's sake alone has not died of the task.
    deaths = 0 if answer_overdue(draft) else task.deaths + 1
    draft.tell(EventType.TURN_RELEASED, turn=task.turn, attempt=task.attempt, deaths=deaths, why="worker_lost")
    if not draft.calls and draft.runtime.rollback is None and draft.runtime.last_input_tokens:
        draft.use(RuntimeUsage(input_tokens=draft.runtime.last_input_tokens, estimated=True))
    if deaths >= MAX_DEATHS:
        _give_up(draft, deaths, settled)
        return
    if _settle(draft, settled):
        draft.release_task(not_before=draft.now, retries=task.retries, deaths=deaths)


def hand_back(draft: Draft, settled: Settled = NO_CALLS, why: str = "handed_back") -> None:
    """The worker stops before the task is done: calls are settled, and another worker may go on at once.

    Where a cancel or a pause was the reason, it has its effect in the same commit.
    """
    if any(signal.kind is SignalKind.CANCEL for signal in draft.signals):
        _tell_ended(draft, settled)
        attend(draft)
        return
    task = draft.view.task
    draft.tell(EventType.TURN_RELEASED, turn=task.turn, attempt=task.attempt, deaths=task.deaths, why=why)
    if not _settle(draft, settled):
        return
    draft.release_task(not_before=draft.now, retries=task.retries, deaths=task.deaths)
    if wants_attention(draft.view):
        attend(draft)


def settle_and_retry(draft: Draft, failure: Failure, lot: float, settled: Settled = NO_CALLS) -> None:
    """The attempt failed on this side: its calls are settled, and the task waits for another try."""
    if _settle(draft, settled):
        retry_later(draft, failure, lot)


def note_end(draft: Draft, ends: Mapping[int, int]) -> None:
    """When these begun calls were over at the latest is on record, before anything is rolled back."""
    for place, over_at in ends.items():
        draft.set_call(draft.calls[place].model_copy(update={"over_at": over_at}))


def note_undone(draft: Draft, place: int, snapshot_id: str) -> None:
    """What the rollback of this call is about to replace is on record, however often that is killed."""
    call = draft.calls[place]
    draft.set_call(call.model_copy(update={"undone": snapshot_id}))
    draft.note_snapshot(snapshot_id, turn=call.turn, step_id=call.step_id, why="before_rollback")


def note_stuck(draft: Draft, place: int) -> None:
    """When the rollback of this call failed first is on record."""
    draft.set_call(draft.calls[place].model_copy(update={"stuck_since": draft.now}))


def _settle(draft: Draft, settled: Settled) -> bool:
    """Bring each begun call to a known point; False if the task has ended by it."""
    draft.settled = settled
    refused = settle_calls(draft)
    if refused is not None:
        why = f"{refused.name} ({refused.call_id}) was interrupted and must not be run again unasked"
        fail_run(draft, "outcome_unknown", why)
    return draft.outcome.kind == "keep"


def _tell_ended(draft: Draft, settled: Settled) -> None:
    draft.settled = settled
    for call in draft.calls:
        if call.status == "begun":
            tell_settled(draft, call, "ended")


def _give_up(draft: Draft, deaths: int, settled: Settled) -> None:
    _tell_ended(draft, settled)
    answer_dangling(draft, not_begun=GIVEN_UP, cut_off=UNKNOWN_OUTCOME)
    drain_into_history(draft)
    message = f"{deaths} workers died on this task; see what it does, then: nonoka sessions retry"
    if allows(draft.state.status, SessionEvent.FAIL):
        draft.move(SessionEvent.FAIL)
        draft.stop_clock("failed", "worker_crashed", message)
        draft.tell(EventType.SESSION_FAILED, error_type="worker_crashed", message=message)
    draft.end_session()
    draft.bury_task(deaths)
