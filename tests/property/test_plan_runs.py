"""Random plans run by workers that die, over the store in memory: what must hold whatever comes, in any order."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from nonoka.adapters.memory.store import MemoryStore
from nonoka.decisions import step, task_kinds
from nonoka.decisions.plan_check import check_plan
from nonoka.decisions.plan_references import as_text
from nonoka.decisions.plan_shape import Shape
from nonoka.decisions.plan_start import digest_of, first_progress, first_runs
from nonoka.decisions.retry import MAX_DEATHS
from nonoka.decisions.transitions import TERMINAL
from nonoka.errors import ClaimLost
from nonoka.records.commit import Claim, Committed, NewSession, NewSignal, SessionDetail, SessionView
from nonoka.records.event import EventType, NewEvent
from nonoka.records.plan import Plan, Retry, Step
from nonoka.records.runtime import RuntimeLimits, SessionRuntimeState
from nonoka.records.session import SessionIndex, SessionState, SessionStatus, StepStatus
from nonoka.records.signal import SignalKind
from nonoka.records.step import StepError, StepOutcome, StepValueGot
from nonoka.records.step_run import WHOLE, NewPlan, PlanProgress, StepRun
from nonoka.records.task import TaskStatus
from nonoka.records.tool import CallStart, Effect
from tests.support.manual_clock import ManualClock
from tests.support.sessions import deciding

T = TypeVar("T")
ENDED = (StepStatus.COMPLETED, StepStatus.FAILED, StepStatus.SKIPPED, StepStatus.CANCELLED)
#: More actions than any fair run of these plans can need.
ENOUGH = 2_000


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a store method in memory, which never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    raise AssertionError("the memory store waited for something")


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A plan whose steps wait for any of those before them."""
    names = [f"s{n}" for n in range(draw(st.integers(1, 7)))]
    main = tuple(_step(draw, name, names[:place]) for place, name in enumerate(names))
    last = [f"f{n}" for n in range(draw(st.integers(0, 2)))]
    finals = tuple(_step(draw, name, last[:place], last=True) for place, name in enumerate(last))
    plan = Plan(name="random", steps=main, finally_steps=finals, max_parallel=draw(st.sampled_from([None, 1, 2])))
    assert check_plan(plan) == []
    return plan


def _step(draw: st.DrawFn, name: str, before: list[str], *, last: bool = False) -> Step:
    waits = draw(st.lists(st.sampled_from(before), unique=True, max_size=3)) if before else []
    loose = draw(st.sets(st.sampled_from(waits))) if waits and not last else set()
    items = draw(st.sampled_from([None, None, 0, 1, 3]))
    return Step(
        id=name,
        tool="do",
        depends_on=tuple(f"{one}?" if one in loose else one for one in waits),
        for_each=None if items is None else list(range(items)),
        max_parallel=draw(st.sampled_from([None, 1])) if items is not None else None,
        on_failure=draw(st.sampled_from(["fail", "continue", "skip"])),
        when=draw(st.sampled_from([None, None, None, "1 > 2", "1 < 2"])),
        retry=Retry(attempts=draw(st.integers(1, 2)), backoff_s=0.1),
    )


class World:
    """One session that runs a plan, and what is known of it from outside."""

    def __init__(self, plan: Plan) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(self.clock)
        self.plan = plan
        self.held: list[tuple[Claim, SessionView]] = []
        self.lost: list[Claim] = []
        self.completed: set[tuple[str, int]] = set()
        #: what had begun when the plan failed; None while it hasn't
        self.begun: set[tuple[str, int]] | None = None
        new = NewPlan(digest=digest_of(plan), plan=plan)
        self.session_id = self.clock.new_id()
        session = NewSession(
            index=SessionIndex(
                session_id=self.session_id,
                kind="plan",
                title="random",
                working_dir="/somewhere",
                agent="default",
                model="none",
                created_at=0,
                last_active=0,
            ),
            state=SessionState(
                session_id=self.session_id,
                start_time=0,
                current_plan=first_progress(new, file=None).model_dump(mode="json"),
                runtime_state=SessionRuntimeState(limits=RuntimeLimits(max_tool_calls=None)),
            ),
            events=(NewEvent(type=EventType.SESSION_CREATED),),
            plan=new,
            runs=first_runs(Shape(plan), 1),
        )
        at_once(self.store.create_session(session))

    def detail(self) -> SessionDetail:
        return at_once(self.store.detail(self.session_id))

    def rows(self) -> dict[tuple[str, int], StepRun]:
        plan = self.detail().plan
        assert plan is not None
        return {(run.step, run.item): run for run in plan.runs}

    # --- what workers do

    def claim(self) -> bool:
        taken = at_once(self.store.claim(f"w{len(self.held)}", deciding(task_kinds.begin)))
        if taken is not None:
            self.note(taken)
        return taken is not None

    def act(self, place: int, outcome: StepOutcome) -> None:
        """A worker does what is next for one of its tasks."""
        claim, view = self.held.pop(place)
        match step.next_action(view):
            case step.Over():
                return
            case step.HeedSignals():
                decide = deciding(step.heed)
            case step.Prepare(run):
                effect = Effect.EXTERNAL if run.place % 2 else Effect.IDEMPOTENT
                start = CallStart(place=0, effect=effect, on_uncertain="replay")
                decide = deciding(step.begin_call, start, "do", None)
            case step.Spread(run):
                values = next(
                    one for one in self.plan.steps + self.plan.finally_steps if one.id == run.step
                ).for_each
                assert isinstance(values, list)
                decide = deciding(step.lay, len(values), values[run.laid : run.laid + 2])
            case step.RunStep(run):
                assert (run.step, run.item) not in self.completed, "a completed step ran again"
                assert run.fence == view.task.fence, "it ran under a claim that did not begin it"
                decide = deciding(step.finish, outcome)
            case _:
                raise AssertionError("no step of these plans is a session")
        try:
            self.note(at_once(self.store.commit(claim, decide)))
        except ClaimLost:
            assert claim in self.lost or not self.runs(claim), "a good claim was refused"

    def die(self, place: int) -> None:
        """The worker of one of the tasks is gone; its claim is taken over and settled."""
        claim, _ = self.held.pop(place)
        self.lost.append(claim)
        for lost in at_once(self.store.running_claims()):
            if (lost.task.task_id, lost.task.fence) == (claim.task_id, claim.fence):
                taken = at_once(self.store.take_over(lost, "settler"))
                assert taken is not None
                at_once(self.store.commit(taken[0], deciding(task_kinds.release_lost, {})))

    def hand_back(self, place: int) -> None:
        claim, _ = self.held.pop(place)
        try:
            at_once(self.store.commit(claim, deciding(task_kinds.hand_back, {})))
        except ClaimLost:
            assert not self.runs(claim)

    def signal(self, kind: SignalKind, **payload: str) -> None:
        at_once(self.store.add_signal(self.session_id, NewSignal(kind=kind, payload={**payload})))

    def note(self, done: Committed) -> None:
        if done.view.task.status is TaskStatus.RUNNING:
            self.held.append((done.claim, done.view))

    def runs(self, claim: Claim) -> bool:
        tasks = {task.task_id: task for task in self.detail().tasks}
        task = tasks[claim.task_id]
        return task.status is TaskStatus.RUNNING and task.fence == claim.fence

    def run_fairly(self) -> None:
        """Nobody dies any more, and everything succeeds, until nothing is left to do."""
        for _ in range(ENOUGH):
            if self.held:
                self.act(0, StepValueGot(value="ok"))
            elif not self.claim():
                live = at_once(self.store.standing(self.session_id)).live_tasks
                if not live:
                    return
                self.clock.advance_ms(max(1, min(task.not_before for task in live) - self.clock.now_ms()))
            self.check()
        raise AssertionError("a fair run does not come to an end")

    # --- what must hold at every moment

    def check(self) -> None:
        found, rows = self.detail(), self.rows()
        self.completed |= {place for place, run in rows.items() if run.status is StepStatus.COMPLETED}
        gone = {place for place in self.completed if rows[place].status is not StepStatus.COMPLETED}
        assert all(rows[place].rounds for place in gone), "a completed step is not completed any more"
        progress = PlanProgress.model_validate(found.state.current_plan)
        self._check_begun(rows, failed=progress.failed_step is not None)
        wholes = [run for run in rows.values() if run.item == WHOLE]
        last = {one.id for one in self.plan.finally_steps}
        assert progress.open == sum(not run.over for run in wholes if run.step not in last)
        assert progress.open_finally == sum(not run.over for run in wholes if run.step in last)
        assert progress.active == sum(run.phase == "tasked" for run in rows.values())
        assert progress.queued == sum(run.phase == "queued" for run in rows.values())
        assert progress.active <= (self.plan.max_parallel or progress.active)
        live = {task.key for task in found.tasks if task.status in (TaskStatus.READY, TaskStatus.RUNNING)}
        tasked = {run.key for run in rows.values() if run.phase == "tasked"}
        assert tasked <= live, "a step waits for a task that it hasn't"
        if found.state.status in (SessionStatus.CREATED, SessionStatus.RUNNING):
            assert live, "it runs, and has no task"
        for run in wholes:
            if run.phase in ("tasked", "spread") or run.attempt:
                before = [rows[name.removesuffix("?"), WHOLE] for name in self._step(run).depends_on]
                assert all(other.over or other.rounds for other in before), f"{run.step} began too early"

    def _check_begun(self, rows: dict[tuple[str, int], StepRun], *, failed: bool) -> None:
        last = {one.id for one in self.plan.finally_steps}
        begun = {place for place, run in rows.items() if run.started_at is not None and run.step not in last}
        if failed and self.begun is not None:
            assert begun <= self.begun, "something began after the plan had failed"
        self.begun = begun if failed else None

    def check_ended(self) -> None:
        found, rows = self.detail(), self.rows()
        assert found.state.status in TERMINAL
        assert found.signals == ()
        assert all(run.status in ENDED for run in rows.values())
        if found.state.status is SessionStatus.CANCELLED:
            return
        failed = {run.step for run in rows.values() if run.status is StepStatus.FAILED and run.item == WHOLE}
        grave = {name for name in failed if self._step(rows[name, WHOLE]).on_failure == "fail"}
        last = {one.id for one in self.plan.finally_steps}
        assert (found.state.status is SessionStatus.FAILED) == bool(grave | (failed & last))
        for run in rows.values():
            if run.item == WHOLE:
                self._check_whole(run, rows, plan_failed=bool(grave))

    def _check_whole(self, run: StepRun, rows: dict[tuple[str, int], StepRun], *, plan_failed: bool) -> None:
        one = self._step(run)
        strict = [rows[name, WHOLE] for name in one.depends_on if not name.endswith("?")]
        doomed = [
            other
            for other in strict
            if other.status is StepStatus.SKIPPED
            or (other.status is StepStatus.FAILED and self._step(other).on_failure == "skip")
        ]
        last = run.step in {each.id for each in self.plan.finally_steps}
        if run.status is StepStatus.SKIPPED:
            assert (doomed and not last) or one.when == "1 > 2" or plan_failed, (
                f"{run.step} was skipped: {run.reason}"
            )
        else:
            assert one.when != "1 > 2"
            assert last or not doomed, f"{run.step} was taken after {[other.step for other in doomed]}"

    def _step(self, run: StepRun) -> Step:
        return next(one for one in (*self.plan.steps, *self.plan.finally_steps) if one.id == run.step)


@settings(max_examples=80, deadline=None)
@given(plan=plans(), data=st.data())
def test_a_plan_comes_to_its_end_whoever_dies_and_whatever_fails(plan: Plan, data: st.DataObject) -> None:
    """Order respects dependencies, counts agree with the rows, and every step is terminal at the end."""
    world = World(plan)
    world.check()
    _lives(world, data)
    for again in range(2):
        world.run_fairly()
        if world.detail().state.status is SessionStatus.PAUSED:
            world.signal(SignalKind.RESUME)
            world.run_fairly()
        world.check_ended()
        if world.detail().state.status is not SessionStatus.FAILED:
            return
        name = data.draw(st.sampled_from([None, *(one.id for one in (*plan.steps, *plan.finally_steps))]))
        world.signal(SignalKind.RETRY, **({} if name is None or again else {"from": name}))
        if not again:
            _lives(world, data)
    world.run_fairly()
    world.check_ended()
    assert world.detail().state.status is SessionStatus.COMPLETED


def _lives(world: World, data: st.DataObject) -> None:
    deaths = 0
    for _ in range(data.draw(st.integers(0, 40))):
        what = data.draw(
            st.sampled_from(["claim", "act", "act", "act", "fail", "die", "hand_back", "wait", "signal"])
        )
        if what == "claim":
            world.claim()
        elif what == "wait":
            world.clock.advance_ms(1_000)
        elif what == "signal":
            kinds = [SignalKind.PAUSE, SignalKind.RESUME, SignalKind.RETRY, SignalKind.MESSAGE, SignalKind.CANCEL]
            world.signal(data.draw(st.sampled_from(kinds)))
        elif world.held:
            place = data.draw(st.integers(0, len(world.held) - 1))
            if what == "die":
                deaths += 1
                if deaths < MAX_DEATHS:
                    world.die(place)
            elif what == "hand_back":
                world.hand_back(place)
            else:
                error = StepError(error_type="tool_failed", message="boom")
                world.act(place, error if what == "fail" else StepValueGot(value=as_text(place)))
        world.check()


def test_a_step_that_kills_its_workers_fails_and_the_others_go_on() -> None:
    """After five deaths it has failed with ``worker_crashed``, and its ``on_failure`` says what that means."""
    deadly = Step(id="deadly", tool="do", on_failure="continue", retry=Retry(attempts=9))
    world = World(Plan(name="test", steps=(deadly, Step(id="after", tool="do", depends_on=("deadly",)))))
    assert world.claim()
    for _ in range(MAX_DEATHS):
        assert world.claim()
        world.act(0, StepValueGot(value="never"))
        world.die(0)
        world.check()
    rows = world.rows()
    assert (rows["deadly", WHOLE].status, rows["deadly", WHOLE].error_type) == (
        StepStatus.FAILED,
        "worker_crashed",
    )
    world.run_fairly()
    world.check_ended()
    assert world.detail().state.status is SessionStatus.COMPLETED


def test_items_that_are_laid_after_the_plan_has_failed_do_not_begin() -> None:
    """The step is being fanned out, two items at a time, when another one fails."""
    wide, bad = Step(id="wide", tool="do", for_each=[1, 2, 3]), Step(id="bad", tool="do")
    world = World(Plan(name="test", steps=(wide, bad)))
    assert world.claim()
    assert world.claim()
    assert world.claim()
    world.act(0, StepValueGot(value="two items are laid"))
    world.act(0, StepValueGot(value="bad begins"))
    world.act(1, StepError(error_type="tool_failed", message="boom"))
    world.check()
    world.run_fairly()
    world.check_ended()
    items = [run for (_, item), run in world.rows().items() if item != WHOLE]
    assert [run.status for run in items] == [StepStatus.SKIPPED] * 3
    assert world.rows()["wide", WHOLE].status is StepStatus.FAILED
