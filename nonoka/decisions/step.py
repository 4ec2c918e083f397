"""One step of a plan, or one item of it, as a task: what to do now, and what came of it.

As with a turn, its position is data: whoever takes it up goes on from the row. Commit points: B ``begin_call`` ·
C ``finish`` (which contains the joins, and what becomes ready by them).
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from nonoka.decisions import limits, plan_flow, retry
from nonoka.decisions.draft import Draft
from nonoka.decisions.inbox import wants_attention
from nonoka.decisions.plan_conduct import proceed, stand_still, wanted_stop
from nonoka.decisions.plan_flow import plan_of, with_error
from nonoka.decisions.plan_shape import shape_of
from nonoka.records.commit import NewSession, SessionView
from nonoka.records.event import EventType
from nonoka.records.plan import Step
from nonoka.records.runtime import RuntimeUsage
from nonoka.records.session import SessionStatus, StepStatus
from nonoka.records.step import StepError, StepOutcome
from nonoka.records.step_run import WHOLE, StepRun, step_of_key
from nonoka.records.task import TaskStatus
from nonoka.records.tool import CallStart, Effect, ProcessGroup

#: What the same attempt would only bring again.
FINAL = frozenset(
    {
        "unknown_tool",
        "invalid_arguments",
        "outcome_unknown",
        "interrupted",
        "worker_crashed",
        "limit_reached",
        "result_too_large",
        plan_flow.PLAN_FAILED,
    }
)


#: What is no longer so of a row whose attempt is at a known point.
SETTLED: dict[str, object] = {
    "begun": False,
    "processes": (),
    "snapshot": None,
    "repository": None,
    "over_at": None,
    "undone": None,
    "stuck_since": None,
    "overdue_s": None,
}


@dataclass(frozen=True, slots=True)
class Prepare:
    """Find out how the step begins, then ``begin_call``; or ``finish`` where it can't."""

    run: StepRun


@dataclass(frozen=True, slots=True)
class RunStep:
    """Run it, then ``finish``: it is begun under this claim."""

    run: StepRun


@dataclass(frozen=True, slots=True)
class Collect:
    """Its child session has ended, or a signal came: ``finish`` with what it brought, or ``wait_for_child``."""

    run: StepRun
    timeout_s: float | None


@dataclass(frozen=True, slots=True)
class Spread:
    """Resolve the list that the step is fanned out over, then ``lay``; or ``finish`` where it is none."""

    run: StepRun


@dataclass(frozen=True, slots=True)
class HeedSignals:
    """Commit ``heed``: a cancel or a pause came in."""


@dataclass(frozen=True, slots=True)
class Over:
    """The task isn't this claim's to run any more."""


StepAction = Prepare | RunStep | Collect | Spread | HeedSignals | Over


def next_action(view: SessionView) -> StepAction:
    """What to do now, from the step as the last commit left it."""
    run = view.step
    if view.task.status is not TaskStatus.RUNNING or run is None:
        return Over()
    if run.begun:
        return RunStep(run) if run.child is None else Collect(run, _step_of(view, run).timeout_s)
    if wants_attention(view) or run.over:
        return HeedSignals()
    return Spread(run) if run.item == WHOLE and _step_of(view, run).for_each is not None else Prepare(run)


def begin(draft: Draft) -> None:
    """The claim's own commit: signals have their effect before anything begins."""
    run = _mine(draft)
    if draft.state.status is SessionStatus.PAUSED and wanted_stop(draft) is None:
        # its own session ended while the plan was paused, and a resume has come in
        proceed(draft)
    if run.over:
        draft.finish_task(next_turn=False)
    elif draft.state.status is not SessionStatus.RUNNING:
        put_back(draft)
    elif wanted_stop(draft) is not None:
        heed(draft)
    elif not run.begun and (limit := _limit_in_the_way(draft, run)) is not None:
        finish(draft, StepError(error_type="limit_reached", message=f"the limit {limit} is reached"))


def heed(draft: Draft) -> None:
    """Signals have their effect; if they stop the plan, the step waits to be taken up again."""
    if wanted_stop(draft) is None:
        proceed(draft)
        if _mine(draft).over:
            draft.finish_task(next_turn=False)
        return
    put_back(draft)


def put_back(draft: Draft) -> None:
    """The step's task ends without having done it; the row waits for room, and the plan stands still."""
    run = _mine(draft)
    if run.begun and run.child is not None:
        plan_of(draft).put(run, phase="queued")
    elif not run.over:
        plan_of(draft).put(run, **SETTLED, phase="queued", status=StepStatus.PENDING)
    draft.finish_task(next_turn=False)
    stand_still(draft)


def begin_call(draft: Draft, start: CallStart, tool: str, args: JsonValue) -> None:
    """Commit B: an attempt is about to run.

    One that may change the workspace begins once its task has the workspace, and ``start`` a snapshot of it.
    """
    run, plan = _mine(draft), plan_of(draft)
    if run.over or wants_attention(draft.view):
        return
    if start.effect is Effect.WORKSPACE and start.snapshot is None:
        draft.want_workspace()
        return
    left = limits.tool_calls_left(draft.runtime)
    if run.attempt == 0 and left is not None and left <= 0 and not plan.in_finally(run):
        finish(draft, StepError(error_type="limit_reached", message="the limit of tool calls is reached"))
        return
    if run.attempt == 0 and plan.step(run).tool is not None:
        draft.use(RuntimeUsage(tool_calls=1))
    run = _begun(draft, start)
    if start.snapshot is not None:
        draft.note_snapshot(start.snapshot.snapshot_id, turn=0, step_id=run.step_id, why="before_call")
    draft.tell(EventType.STEP_STARTED, **_named(run), tool=tool, args=args, attempt=run.attempt)


def begin_child(draft: Draft, child: NewSession, shown: JsonValue) -> None:
    """An attempt is the run of a session of its own, made with this commit; the task waits for its end."""
    run, plan = _mine(draft), plan_of(draft)
    if run.over or wants_attention(draft.view):
        return
    run = _begun(draft, CallStart(place=0, effect=Effect.READ_ONLY, on_uncertain="replay"))
    run = plan.put(run, child=child.index.session_id)
    agent = child.index.agent
    draft.tell(
        EventType.STEP_STARTED, **_named(run), tool=agent, args=shown, attempt=run.attempt, session=run.child
    )
    draft.bear(child)


def wait_for_child(draft: Draft) -> None:
    """The child session has not ended: the task waits on."""
    run = _mine(draft)
    if wants_attention(draft.view):
        heed(draft)
    elif run.child is not None and not run.over:
        draft.wait_for(run.child)


def lay(draft: Draft, total: int, values: list[JsonValue]) -> None:
    """The next items of a step that is fanned out have their rows; after the last they begin."""
    run, plan = _mine(draft), plan_of(draft)
    if run.over or wants_attention(draft.view):
        return
    if run.items is None:
        run = plan.put(run, items=total, open_items=total, laid=0)
    if run.status is not StepStatus.RUNNING:
        begun: dict[str, object] = {"status": StepStatus.RUNNING, "started_at": run.started_at or draft.now}
        run = plan.put(run, attempt=run.attempt + 1, **begun)
        draft.tell(EventType.STEP_STARTED, **_named(run), tool="", args=None, attempt=run.attempt, items=total)
    for place, value in enumerate(values, start=run.laid):
        item = StepRun(plan=run.plan, step=run.step, item=place, place=run.place, phase="held", rounds=run.rounds)
        plan.lay(item, value)
    run = plan.put(run, laid=run.laid + len(values))
    if run.laid < total:
        return
    draft.made_progress()
    if run.open_items == 0:
        plan_flow.complete(draft, run, None)
    else:
        plan_flow.let_items_go(draft, plan.put(run, phase="spread"))
        plan_flow.skip_items_of_failed_plan(draft, run)
    draft.finish_task(next_turn=False)
    proceed(draft)


def finish(draft: Draft, outcome: StepOutcome) -> None:
    """Commit C: the attempt's outcome; where it isn't tried again, all that follows from it as well."""
    run, plan = _mine(draft), plan_of(draft)
    draft.made_progress()
    if run.over:
        draft.finish_task(next_turn=False)
        return
    run = plan.put(run, **SETTLED, doubt="none")
    draft.use(outcome.usage)
    if isinstance(outcome, StepError):
        if _tried_again(draft, run, outcome):
            return
        plan_flow.fail(draft, run, outcome)
        if outcome.error_type == "limit_reached":
            plan_flow.settle(draft, plan_flow.fail_plan(draft, with_error(run, outcome)))
    else:
        plan_flow.complete(draft, run, outcome.value)
    draft.finish_task(next_turn=False)
    proceed(draft)


def record_process(draft: Draft, group: ProcessGroup) -> None:
    """The begun attempt has started this process group, which is still held."""
    run = _mine(draft)
    plan_of(draft).put(run, processes=(*run.processes, group))


def note_overdue(draft: Draft, limit_s: float) -> None:
    """The attempt's time is over, which is its outcome; its worker is about to end for it."""
    plan_of(draft).put(_mine(draft), overdue_s=limit_s)


def wait_and_retry(draft: Draft, error: StepError, wait_ms: int, retries: int) -> None:
    """The step is ready again after that time, or once the plan's own is over: there it ends."""
    run = plan_of(draft).put(with_error(_mine(draft), error), **SETTLED)
    until = _within_time(draft, run, draft.now + wait_ms)
    draft.use(error.usage)
    draft.tell(
        EventType.STEP_RETRIED,
        **_named(run),
        error_type=error.error_type,
        message=error.message,
        attempt=run.attempt,
        retry_at=until,
    )
    if wanted_stop(draft) is not None:
        put_back(draft)
    else:
        draft.release_task(not_before=until, retries=retries, deaths=0)


def retry_later(draft: Draft, error: StepError, lot: float, retry_after_ms: int | None, *, may_pass: bool) -> None:
    """What may pass is waited out, and doesn't count as a try of the step; else this was one."""
    task = draft.view.task
    if not may_pass or task.retries >= retry.MAX_RETRIES:
        finish(draft, error)
        return
    wait_and_retry(draft, error, retry.backoff_ms(task.retries, lot, retry_after_ms), task.retries + 1)


def _begun(draft: Draft, start: CallStart) -> StepRun:
    run = _mine(draft)
    return plan_of(draft).put(
        run,
        begun=True,
        attempt=run.attempt + 1,
        fence=draft.view.task.fence,
        effect=start.effect,
        on_uncertain=start.on_uncertain,
        processes=(),
        snapshot=start.snapshot.snapshot_id if start.snapshot else None,
        repository=start.snapshot.repository if start.snapshot else None,
        over_at=None,
        undone=None,
        stuck_since=None,
        status=StepStatus.RUNNING,
        started_at=run.started_at or draft.now,
    )


def _within_time(draft: Draft, run: StepRun, at: int) -> int:
    deadline = draft.runtime.deadline_at
    return at if deadline is None or plan_of(draft).in_finally(run) else min(at, deadline)


def _limit_in_the_way(draft: Draft, run: StepRun) -> str | None:
    # A tool asks no model: it may run where no request may follow. What tidies up is let run in any case.
    plan = plan_of(draft)
    if plan.step(run).kind != "tool":
        return limits.exceeded(draft.runtime, draft.now)
    return None if plan.in_finally(run) else limits.wall_exceeded(draft.runtime, draft.now)


def _tried_again(draft: Draft, run: StepRun, error: StepError) -> bool:
    plan = plan_of(draft)
    policy = plan.step(run).retry
    tries = run.tries + 1
    given_up = plan.progress.failed_step is not None and not plan.in_finally(run)
    if tries >= policy.attempts or error.error_type in FINAL or given_up:
        return False
    if policy.on and not {error.error_type, error.raised} & set(policy.on):
        return False
    plan.put(run, tries=tries)
    wait_and_retry(draft, error, min(_LONGEST_MS, round(policy.backoff_s * 1000) << min(tries - 1, 20)), 0)
    return True


#: Between two tries of a step, at most.
_LONGEST_MS = 3_600_000


def _mine(draft: Draft) -> StepRun:
    return plan_of(draft).run(*step_of_key(draft.view.task.key))


def _step_of(view: SessionView, run: StepRun) -> Step:
    if view.plan is None:
        raise TypeError(f"task {view.task.task_id!r} is a step's, and its session has no plan")
    return shape_of(view.plan.definition).steps[run.step]


def _named(run: StepRun) -> dict[str, JsonValue]:
    return {"step": run.step, "item": None if run.item == WHOLE else run.item}
