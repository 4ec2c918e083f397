"""What becomes of a step's claim that its worker can't finish. Its processes have ended before."""

from __future__ import annotations

from collections.abc import Mapping

from nonoka.decisions import step
from nonoka.decisions.draft import Draft
from nonoka.decisions.plan_conduct import wanted_stop
from nonoka.decisions.plan_flow import plan_of
from nonoka.decisions.retry import MAX_DEATHS
from nonoka.decisions.settling import UNKNOWN_OUTCOME, outcome_of, settled_facts
from nonoka.decisions.turn import Failure
from nonoka.records.event import EventType
from nonoka.records.step import StepError
from nonoka.records.step_run import WHOLE, StepRun, call_of, step_of_key
from nonoka.records.tool import SettledCall

#: What was done about the begun attempt, at place 0.
Settled = Mapping[int, SettledCall]


def release_lost(draft: Draft, settled: Settled) -> None:
    """The worker died or froze: the step is settled and ready again, or given up."""
    draft.settled = settled
    if _ended_overdue(draft):
        return
    deaths = draft.view.task.deaths + 1
    run = _told_released(draft, deaths, "worker_lost")
    if run.over:
        draft.finish_task(next_turn=False)
    elif deaths >= MAX_DEATHS:
        message = f"{deaths} workers died on this step; see what it does, then: nonoka sessions retry"
        step.finish(draft, StepError(error_type="worker_crashed", message=message))
        draft.bury_task(deaths)
    elif _settle(draft, run):
        _release(draft, deaths)


def hand_back(draft: Draft, settled: Settled, why: str = "handed_back") -> None:
    """The worker stops before the step is done; where a cancel or a pause was the reason, it has its effect."""
    draft.settled = settled
    deaths = draft.view.task.deaths
    run = _told_released(draft, deaths, why)
    if run.over:
        draft.finish_task(next_turn=False)
    elif _settle(draft, run):
        _release(draft, deaths)


def settle_and_retry(draft: Draft, failure: Failure, lot: float, settled: Settled) -> None:
    """The attempt failed on this side: it is settled, and waits for another try."""
    draft.settled = settled
    run = plan_of(draft).run(*step_of_key(draft.view.task.key))
    if run.over:
        draft.finish_task(next_turn=False)
    elif _settle(draft, run):
        error = StepError(error_type=failure.error_type, message=failure.message)
        step.retry_later(draft, error, lot, failure.retry_after_ms, may_pass=failure.may_pass)


def note_end(draft: Draft, over_at: int) -> None:
    """When the begun attempt was over at the latest is on record, before anything is rolled back."""
    plan_of(draft).put(plan_of(draft).run(*step_of_key(draft.view.task.key)), over_at=over_at)


def note_undone(draft: Draft, snapshot_id: str) -> None:
    """What the rollback of the begun attempt is about to replace is on record, however often that is killed."""
    run = plan_of(draft).put(plan_of(draft).run(*step_of_key(draft.view.task.key)), undone=snapshot_id)
    draft.note_snapshot(snapshot_id, turn=0, step_id=run.step_id, why="before_rollback")


def note_stuck(draft: Draft) -> None:
    """When the rollback of the begun attempt failed first is on record."""
    plan_of(draft).put(plan_of(draft).run(*step_of_key(draft.view.task.key)), stuck_since=draft.now)


def _ended_overdue(draft: Draft) -> bool:
    """An attempt whose worker ended for it has had its outcome; whether this is one."""
    run = plan_of(draft).run(*step_of_key(draft.view.task.key))
    if not run.begun or run.overdue_s is None or run.over:
        return False
    _tell_settled(draft, run, "overdue")
    message = (
        f"ended after its {run.overdue_s:g} s, and its worker process with it, since nothing else could stop it; "
        "its outcome may be partial"
    )
    step.finish(draft, StepError(error_type="timeout", message=message))
    return True


def _tell_settled(draft: Draft, run: StepRun, outcome: str) -> None:
    item = None if run.item == WHOLE else run.item
    facts = settled_facts(draft.settled.get(0))
    draft.tell(EventType.STEP_SETTLED, step=run.step, item=item, attempt=run.attempt, outcome=outcome, **facts)


def _release(draft: Draft, deaths: int) -> None:
    if wanted_stop(draft) is not None:
        step.put_back(draft)
        return
    draft.release_task(not_before=draft.now, retries=draft.view.task.retries, deaths=deaths)


def _told_released(draft: Draft, deaths: int, why: str) -> StepRun:
    run = plan_of(draft).run(*step_of_key(draft.view.task.key))
    item = None if run.item == WHOLE else run.item
    draft.tell(EventType.STEP_RELEASED, step=run.step, item=item, attempt=run.attempt, deaths=deaths, why=why)
    return run


def _settle(draft: Draft, run: StepRun) -> bool:
    """Bring an attempt that was cut off to a known point; False if that ended the step."""
    if not run.begun or run.child is not None:
        return True
    outcome = outcome_of(call_of(run), draft.settled.get(0))
    _tell_settled(draft, run, outcome)
    if outcome in ("replay", "probe"):
        plan_of(draft).put(run, **step.SETTLED, doubt="probe" if outcome == "probe" else "none")
        return True
    # Nobody else is there to be told or asked: the step has failed, and its on_failure says what that means.
    kind = "interrupted" if outcome == "tell" else "outcome_unknown"
    step.finish(draft, StepError(error_type=kind, message=UNKNOWN_OUTCOME.content))
    return False
