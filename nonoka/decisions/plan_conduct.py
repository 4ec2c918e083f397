"""A plan as a whole: it begins, heeds signals, goes on, stands still and ends.

Its steps are tasks of their own. A turn of a plan session is the task of who conducts it: the first one begins
the plan, and a later one is there to read a signal that no step's task can.
"""

from __future__ import annotations

from typing import Literal

from nonoka.decisions.draft import Draft
from nonoka.decisions.inbox import interrupts
from nonoka.decisions.plan_flow import may_begin, plan_of, settle
from nonoka.decisions.plan_references import resolve
from nonoka.decisions.plan_retry import take_up
from nonoka.decisions.transitions import SessionEvent, allows
from nonoka.errors import ValueMissing
from nonoka.records.base import JsonObject
from nonoka.records.commit import NewSignal
from nonoka.records.event import EventType
from nonoka.records.session import SessionStatus, StepStatus
from nonoka.records.signal import Signal, SignalKind
from nonoka.records.step_run import StepRun

Stop = Literal["cancel", "pause"]


def begin(draft: Draft) -> None:
    """The claim of a plan's turn is also its end: the plan goes on, or stands still."""
    plan = plan_of(draft)
    first = draft.state.status is SessionStatus.CREATED
    if first:
        draft.move(SessionEvent.BEGIN)
        draft.start_clock()
        settle(draft, [over for step in plan.shape.roots for over in may_begin(draft, plan.run(step))])
    proceed(draft)
    draft.finish_task(next_turn=False)


def proceed(draft: Draft) -> None:
    """Signals have their effect; where none holds the plan, what may begin has a task, or the plan ends."""
    if wanted_stop(draft) is None:
        _read_all(draft)
        if draft.state.status is SessionStatus.RUNNING:
            _go_on(draft)
    else:
        stand_still(draft)


def stand_still(draft: Draft) -> None:
    """Nothing begins any more; once the last running step is settled, the plan is paused or cancelled.

    The signal stays in the inbox until then, so that every worker that runs a step of it hears of it.
    """
    plan = plan_of(draft)
    stop = wanted_stop(draft)
    at_once = any(interrupts(signal) for signal in draft.signals)
    for run in plan.rows.unclaimed():
        current = plan.run(run.step, run.item)
        if current.phase == "tasked" and current.key != draft.view.task.key:
            plan.take_off(current)
    if plan.rows.another_runs():
        return
    _read_all(draft)
    if stop == "cancel":
        _cancel(draft)
    elif stop == "pause" and allows(draft.state.status, SessionEvent.PAUSE):
        _signal_children(draft, SignalKind.PAUSE, **({"now": "true"} if at_once else {}))
        draft.move(SessionEvent.PAUSE)
        draft.stop_clock("paused")
        draft.tell(EventType.SESSION_PAUSED)


def wanted_stop(draft: Draft) -> Stop | None:
    """What the inbox comes to, where it stops the plan: a cancel wins, a resume takes a pause back."""
    stop: Stop | None = None
    for signal in draft.signals:
        if signal.kind is SignalKind.CANCEL and allows(draft.state.status, SessionEvent.CANCEL):
            return "cancel"
        if signal.kind is SignalKind.PAUSE and allows(draft.state.status, SessionEvent.PAUSE):
            stop = "pause"
        if signal.kind is SignalKind.RESUME:
            stop = None
    return stop


def _read_all(draft: Draft) -> None:
    for signal in list(draft.signals):
        _read(draft, signal)
        draft.set_runtime(signals_read=max(signal.seq, draft.runtime.signals_read))
        draft.drain(signal)


def _read(draft: Draft, signal: Signal) -> None:
    status = draft.state.status
    if signal.kind is SignalKind.RESUME and allows(status, SessionEvent.RESUME):
        _run_again(draft, SessionEvent.RESUME)
        _signal_children(draft, SignalKind.RESUME)
    if signal.kind is SignalKind.RETRY and allows(status, SessionEvent.RETRY):
        _run_again(draft, SessionEvent.RETRY)
        _signal_children(draft, SignalKind.RESUME)
        if status is SessionStatus.FAILED:
            settle(draft, take_up(draft, signal.payload))


def _run_again(draft: Draft, event: SessionEvent) -> None:
    draft.move(event)
    draft.start_clock()
    draft.tell(EventType.SESSION_RESUMED, by=event.value)


def _go_on(draft: Draft) -> None:
    plan = plan_of(draft)
    while plan.progress.open == 0 and not plan.progress.finally_begun:
        plan.note(finally_begun=True)
        settle(draft, _begin_finally(draft))
    plan.fill()
    if plan.progress.open == 0 and plan.progress.open_finally == 0:
        _end(draft)


def _begin_finally(draft: Draft) -> list[StepRun]:
    plan = plan_of(draft)
    over: list[StepRun] = []
    for step in plan.shape.plan.finally_steps:
        run = plan.put(plan.run(step.id), missing=plan.run(step.id).missing - 1)
        if run.missing == 0:
            over += may_begin(draft, run)
    return over


def _end(draft: Draft) -> None:
    plan = plan_of(draft)
    if plan.progress.failed_step is None:
        try:
            plan.put_out(_outputs(draft))
        except ValueMissing as missing:
            plan.note(failed_step="outputs", error_type="invalid_arguments", message=str(missing))
    failed = plan.progress.failed_step
    draft.tell(EventType.PLAN_FINISHED, plan=plan.progress.number, ok=failed is None, failed_step=failed)
    if failed is None:
        draft.move(SessionEvent.ANSWER)
        draft.stop_clock("completed")
        draft.tell(EventType.SESSION_COMPLETED, turns=draft.runtime.usage.model_turns)
    else:
        what = "the plan's outputs" if failed == "outputs" else f"step {failed!r}"
        message = f"{what}: {plan.progress.error_type}: {plan.progress.message}"
        draft.move(SessionEvent.FAIL)
        draft.stop_clock("failed", "step_failed", message)
        draft.tell(EventType.SESSION_FAILED, error_type="step_failed", message=message)
    draft.end_session()


def _outputs(draft: Draft) -> JsonObject:
    plan = plan_of(draft)
    if plan.shape.plan.outputs:
        return {name: resolve(value, plan.lookup) for name, value in plan.shape.plan.outputs.items()}
    leaves = plan.shape.leaves
    return {step: resolve(f"${{{step}}}", plan.lookup) for step in leaves}


def _cancel(draft: Draft) -> None:
    plan = plan_of(draft)
    _signal_children(draft, SignalKind.CANCEL)
    for row in plan.rows.unfinished():
        run = plan.run(row.step, row.item)
        if not run.over:
            plan.put(run, status=StepStatus.CANCELLED, phase="over", begun=False, processes=(), ended_at=draft.now)
    plan.note(open=0, open_finally=0)
    draft.move(SessionEvent.CANCEL)
    draft.stop_clock("cancelled")
    draft.set_runtime(cancelled_at=draft.now)
    draft.tell(EventType.SESSION_CANCELLED)
    draft.end_session()


def _signal_children(draft: Draft, kind: SignalKind, **payload: str) -> None:
    for run in plan_of(draft).rows.with_child():
        if run.child is not None and run.begun and not run.over:
            draft.send(run.child, NewSignal(kind=kind, payload=payload))
