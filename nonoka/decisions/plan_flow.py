"""The joins of a plan: what a step's end means for the others, inside the commit that ends it.

Its cost follows what changes: who waits for the step that ended, and, where that decides them, who waits for
those.
"""

from __future__ import annotations

from collections import deque

from pydantic import JsonValue

from nonoka.decisions.draft import SUMMARY_CHARACTERS, Draft
from nonoka.decisions.plan_draft import WINDOW, PlanDraft
from nonoka.decisions.plan_references import as_text
from nonoka.decisions.plan_when import evaluate, parse_when
from nonoka.errors import ValueMissing
from nonoka.records.event import EventType
from nonoka.records.session import StepStatus
from nonoka.records.step import StepError
from nonoka.records.step_run import WHOLE, StepRun

PLAN_FAILED = "plan_failed"
#: What every checkpoint keeps of a failure's message, in characters.
TOLD = 1_000


def plan_of(draft: Draft) -> PlanDraft:
    """The draft's plan: every session that comes here has one."""
    if draft.plan is None:
        raise TypeError(f"session {draft.state.session_id!r} has no plan")
    return draft.plan


def complete(draft: Draft, run: StepRun, value: JsonValue) -> None:
    """The step, or item, has brought this; what follows from that is noted as well."""
    plan = plan_of(draft)
    plan.give(run, value)
    run = _over(draft, run, StepStatus.COMPLETED)
    _tell_finished(draft, run, summary=as_text(value)[:SUMMARY_CHARACTERS])
    settle(draft, [run])


def fail(draft: Draft, run: StepRun, error: StepError) -> None:
    """The step, or item, has failed for good; what follows from that is noted as well."""
    run = _over(draft, with_error(run, error), StepStatus.FAILED)
    _tell_finished(draft, run, summary=error.message[:SUMMARY_CHARACTERS])
    settle(draft, [run])


def fail_plan(draft: Draft, run: StepRun) -> list[StepRun]:
    """The plan fails for this step's failure: what never began is skipped, and what waits for another try has
    failed; returns those.
    """
    plan = plan_of(draft)
    if plan.progress.failed_step is None:
        plan.note(failed_step=run.step, error_type=run.error_type, message=(run.message or "")[:TOLD])
    if plan.in_finally(run):
        return []
    return _skip_unbegun(draft)


def may_begin(draft: Draft, run: StepRun) -> list[StepRun]:
    """All that the step waits for has ended: it waits for room, or it is over; returns it then."""
    plan, step = plan_of(draft), plan_of(draft).step(run)
    if run.reason is not None:
        return [_skipped(draft, run, run.reason)]
    try:
        taken = step.when is None or evaluate(parse_when(step.when), plan.lookup)
    except ValueMissing as missing:
        failed = with_error(run, StepError(error_type="invalid_arguments", message=str(missing)))
        failed = _over(draft, failed, StepStatus.FAILED)
        _tell_finished(draft, failed, summary=str(missing)[:SUMMARY_CHARACTERS])
        return [failed]
    if not taken:
        return [_skipped(draft, run, "when")]
    plan.put(run, phase="queued")
    return []


def settle(draft: Draft, ended: list[StepRun]) -> None:
    """Note what follows from the end of these, and from what ends by that, until nothing more does."""
    waiting = deque(ended)
    while waiting:
        waiting.extend(_consequences(draft, waiting.popleft()))


def let_items_go(draft: Draft, run: StepRun) -> None:
    """As many items of the step wait for room as it lets run side by side."""
    plan = plan_of(draft)
    run = plan.run(run.step)
    most = min(plan.step(run).max_parallel or WINDOW, WINDOW)
    while run.next_item < (run.items or 0) and run.let_go < most:
        item = plan.run(run.step, run.next_item)
        run = plan.put(run, next_item=run.next_item + 1)
        if item.phase == "held":
            plan.put(item, phase="queued")
            run = plan.put(run, let_go=run.let_go + 1)


def skip_items_of_failed_plan(draft: Draft, run: StepRun) -> None:
    """Items of a step that was being fanned out while the plan failed don't begin either."""
    plan = plan_of(draft)
    if plan.progress.failed_step is None or plan.in_finally(run):
        return
    items = [plan.run(run.step, place) for place in range(run.items or 0)]
    settle(draft, [_skipped(draft, item, PLAN_FAILED) for item in items if not item.over])


def with_error(run: StepRun, error: StepError) -> StepRun:
    """The row with the error of its last attempt."""
    update = {"error_type": error.error_type, "message": error.message, "traceback": error.traceback}
    return run.model_copy(update=update)


def _over(draft: Draft, run: StepRun, status: StepStatus) -> StepRun:
    done = {"status": status, "phase": "over", "begun": False, "processes": (), "ended_at": draft.now}
    if status is StepStatus.COMPLETED:
        done |= {"error_type": None, "message": None, "traceback": ""}
    return plan_of(draft).put(run, **done)


def _given_up(draft: Draft, run: StepRun) -> StepRun:
    run = _over(draft, run, StepStatus.FAILED)
    _tell_finished(draft, run, summary=(run.message or "")[:SUMMARY_CHARACTERS])
    return run


def _skipped(draft: Draft, run: StepRun, reason: str) -> StepRun:
    run = _over(draft, run.model_copy(update={"reason": reason}), StepStatus.SKIPPED)
    if run.item == WHOLE:
        draft.tell(EventType.STEP_SKIPPED, step=run.step, reason=reason)
    return run


def _tell_finished(draft: Draft, run: StepRun, *, summary: str) -> None:
    draft.tell(
        EventType.STEP_FINISHED,
        step=run.step,
        item=None if run.item == WHOLE else run.item,
        ok=run.status is StepStatus.COMPLETED,
        error_type=run.error_type,
        attempt=run.attempt,
        duration_ms=draft.now - (run.started_at or draft.now),
        summary=summary,
    )


def _consequences(draft: Draft, run: StepRun) -> list[StepRun]:
    if run.item != WHOLE:
        return _after_item(draft, run)
    plan = plan_of(draft)
    counter = "open_finally" if plan.in_finally(run) else "open"
    plan.note(**{counter: getattr(plan.progress, counter) - 1})
    ended = []
    if run.status is StepStatus.FAILED and (plan.in_finally(run) or plan.step(run).on_failure == "fail"):
        ended += fail_plan(draft, run)
    for name in plan.shape.after(run.step):
        ended += _one_less(draft, plan.run(name), run)
    return ended


def _one_less(draft: Draft, run: StepRun, ended: StepRun) -> list[StepRun]:
    if run.over:
        return []
    plan = plan_of(draft)
    reason = run.reason or doom(plan, run, ended)
    run = plan.put(run, missing=run.missing - 1, reason=reason)
    return may_begin(draft, run) if run.missing == 0 else []


def doom(plan: PlanDraft, run: StepRun, ended: StepRun) -> str | None:
    """Why the step has to be skipped after that end of one that it waits for; None: it hasn't."""
    strict = ended.step in plan.shape.dependencies(run.step).strict
    if not strict or plan.in_finally(run):
        return None
    if ended.status is StepStatus.SKIPPED:
        return f"step {ended.step!r} was skipped"
    if ended.status is StepStatus.FAILED and plan.step(ended).on_failure == "skip":
        return f"step {ended.step!r} failed"
    return None


def _skip_unbegun(draft: Draft) -> list[StepRun]:
    plan = plan_of(draft)
    found = []
    for row in plan.rows.unfinished():
        run = plan.run(row.step, row.item)
        if run.over or run.phase == "spread" or plan.in_finally(run) or run.key == draft.view.task.key:
            continue
        between_tries = run.tries > 0 and not run.begun
        if run.started_at is not None and not between_tries:
            continue
        if run.phase == "tasked":
            plan.take_off(run)
        run = plan.run(run.step, run.item)
        found.append(_given_up(draft, run) if between_tries else _skipped(draft, run, PLAN_FAILED))
    return found


def _after_item(draft: Draft, item: StepRun) -> list[StepRun]:
    plan = plan_of(draft)
    run = plan.run(item.step)
    if run.over:
        return []
    let_go = run.let_go - (item.item < run.next_item)
    run = plan.put(run, open_items=run.open_items - 1, let_go=let_go)
    ended: list[StepRun] = []
    if _fails_step(plan, item) and not run.error_type:
        run = plan.put(with_error(run, _error_of_item(item)))
        ended += _skip_items(draft, run)
    if run.open_items == 0:
        return [*ended, *_all_items_over(draft, run)]
    if not run.error_type:
        let_items_go(draft, run)
    return ended


def _fails_step(plan: PlanDraft, item: StepRun) -> bool:
    failed = item.status is StepStatus.FAILED and plan.step(item).on_failure != "continue"
    return failed or item.status is StepStatus.SKIPPED


def _error_of_item(item: StepRun) -> StepError:
    if item.status is StepStatus.SKIPPED:
        return StepError(error_type=PLAN_FAILED, message="items were not begun, for the plan failed")
    return StepError(
        error_type=item.error_type or "failed",
        message=f"item {item.item}: {item.message}",
        traceback=item.traceback,
    )


def _skip_items(draft: Draft, run: StepRun) -> list[StepRun]:
    plan = plan_of(draft)
    found = []
    for row in plan.rows.items(run.step):
        item = plan.run(row.step, row.item)
        if item.over or item.started_at is not None or item.key == draft.view.task.key:
            continue
        if item.phase == "tasked":
            plan.take_off(item)
        found.append(_skipped(draft, plan.run(item.step, item.item), f"an item of {run.step!r} failed"))
    return found


def _all_items_over(draft: Draft, run: StepRun) -> list[StepRun]:
    status = StepStatus.FAILED if run.error_type else StepStatus.COMPLETED
    run = _over(draft, run, status)
    _tell_finished(draft, run, summary=run.message or f"{run.items} items")
    return [run]
