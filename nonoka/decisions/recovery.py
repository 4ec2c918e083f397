"""What becomes of a claim that its worker can't finish, and of the calls that were in doubt.

Both are decided for calls whose processes have ended already: settling comes first, under a raised fence.
"""

from __future__ import annotations

from nonoka.decisions.draft import Draft
from nonoka.decisions.inbox import answer_dangling, drain_into_history, wants_attention
from nonoka.decisions.retry import MAX_DEATHS
from nonoka.decisions.transitions import SessionEvent, allows
from nonoka.decisions.turn import Failure, attend, fail_run, retry_later
from nonoka.records.event import EventType
from nonoka.records.runtime import RuntimeUsage
from nonoka.records.signal import SignalKind
from nonoka.records.tool import CallResult, CallState, Effect

UNKNOWN_OUTCOME = CallResult(
    content="interrupted: the worker running this ended; whether it took effect is unknown",
    error_type="interrupted",
)
GIVEN_UP = CallResult(content="not run: its worker died too often", error_type="worker_crashed")


def release_lost(draft: Draft) -> None:
    """The worker died or froze: its calls are settled, and the task is ready again, or given up."""
    task = draft.view.task
    deaths = task.deaths + 1
    draft.tell(EventType.TURN_RELEASED, turn=task.turn, attempt=task.attempt, deaths=deaths, why="worker_lost")
    if not draft.calls and draft.runtime.last_input_tokens:
        draft.use(RuntimeUsage(input_tokens=draft.runtime.last_input_tokens, estimated=True))
    if deaths >= MAX_DEATHS:
        _give_up(draft, deaths)
        return
    if _settle(draft):
        draft.release_task(not_before=draft.now, retries=task.retries, deaths=deaths)


def hand_back(draft: Draft, why: str = "handed_back") -> None:
    """The worker stops before the task is done: calls are settled, and another worker may go on at once.

    Where a cancel or a pause was the reason, it has its effect in the same commit.
    """
    if any(signal.kind is SignalKind.CANCEL for signal in draft.signals):
        attend(draft)
        return
    task = draft.view.task
    draft.tell(EventType.TURN_RELEASED, turn=task.turn, attempt=task.attempt, deaths=task.deaths, why=why)
    if not _settle(draft):
        return
    draft.release_task(not_before=draft.now, retries=task.retries, deaths=task.deaths)
    if wants_attention(draft.view):
        attend(draft)


def settle_and_retry(draft: Draft, failure: Failure, lot: float) -> None:
    """The attempt failed on this side: its calls are settled, and the task waits for another try."""
    if _settle(draft):
        retry_later(draft, failure, lot)


def _settle(draft: Draft) -> bool:
    """Bring each begun call to a known point; False if that ended the run."""
    for call in [c for c in draft.calls if c.status == "begun"]:
        outcome = "replay" if call.effect in (Effect.READ_ONLY, Effect.IDEMPOTENT) else call.on_uncertain
        draft.tell(
            EventType.CALL_SETTLED,
            turn=call.turn,
            tool_call_id=call.call_id,
            tool=call.name,
            attempt=call.attempt,
            outcome=outcome,
        )
        if outcome == "replay":
            draft.set_call(call.model_copy(update={"status": "not_begun", "processes": ()}))
        else:
            _tell_unknown(draft, call)
            if outcome == "fail":
                fail_run(
                    draft,
                    "outcome_unknown",
                    f"{call.name} ({call.call_id}) was interrupted and must not be run again unasked",
                )
                return False
    return True


def _tell_unknown(draft: Draft, call: CallState) -> None:
    draft.answer_call(call, UNKNOWN_OUTCOME)


def _give_up(draft: Draft, deaths: int) -> None:
    answer_dangling(draft, not_begun=GIVEN_UP, cut_off=UNKNOWN_OUTCOME)
    drain_into_history(draft)
    message = f"{deaths} workers died on this task; see what it does, then: nonoka sessions retry"
    if allows(draft.state.status, SessionEvent.FAIL):
        draft.move(SessionEvent.FAIL)
        draft.stop_clock("failed", "worker_crashed", message)
        draft.tell(EventType.SESSION_FAILED, error_type="worker_crashed", message=message)
    draft.end_session()
    draft.bury_task(deaths)
