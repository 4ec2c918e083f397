"""Plans in a store: rows for steps, what a commit changes of them, and what one session's end means to another."""

from __future__ import annotations

import pytest

from nonoka.decisions import task_kinds
from nonoka.decisions.plan_shape import Shape
from nonoka.decisions.plan_start import digest_of, first_progress, first_runs
from nonoka.errors import ClaimLost
from nonoka.ports.store import Store
from nonoka.records.commit import Changes, Committed, NewSession, SentSignal, SessionView, TaskOutcome
from nonoka.records.event import EventType, NewEvent
from nonoka.records.plan import Plan, Step
from nonoka.records.session import SessionStatus, StepStatus
from nonoka.records.signal import SignalKind
from nonoka.records.step_run import WHOLE, NewPlan, PlanChanges, PlanProgress, StepRun, StepValue
from nonoka.records.task import TaskStatus, session_end
from tests.support.manual_clock import ManualClock
from tests.support.sessions import created, deciding, new_session, signal, take, writing

PLAN = Plan(
    name="demo",
    steps=(
        Step(id="a", tool="t"),
        Step(id="each", tool="t", for_each=[1, 2], depends_on=("a",)),
        Step(id="b", tool="t", depends_on=("a",)),
    ),
)


def planned(clock: ManualClock, plan: Plan = PLAN, **inputs: int) -> NewSession:
    """A session that runs this plan, to be created now."""
    new = NewPlan(digest=digest_of(plan), plan=plan, inputs=dict(inputs))
    like = new_session(clock)
    return like.model_copy(
        update={
            "index": like.index.model_copy(update={"kind": "plan"}),
            "state": like.state.model_copy(
                update={"current_plan": first_progress(new, file=None).model_dump(mode="json")}
            ),
            "plan": new,
            "runs": first_runs(Shape(plan), 1),
        }
    )


async def begun(store: Store, clock: ManualClock) -> tuple[str, Committed]:
    """A plan is stored and begun, and its first step claimed; returns the session's id and that claim."""
    new = planned(clock, n=5)
    await store.create_session(new)
    await take(store, new.index.session_id, decide=deciding(task_kinds.begin))
    return new.index.session_id, await take(store, new.index.session_id, decide=deciding(task_kinds.begin))


async def test_a_plan_is_stored_with_a_row_for_each_step_and_without_a_prompt(
    store: Store, clock: ManualClock
) -> None:
    new = planned(clock, n=5)
    await store.create_session(new)
    found = await store.detail(new.index.session_id)
    assert found.plan is not None
    assert (found.plan.plan, found.plan.inputs, found.plan.outputs) == (PLAN, {"n": 5}, None)
    assert [(run.step, run.missing, run.phase) for run in found.plan.runs] == [
        ("a", 0, "blocked"),
        ("each", 1, "blocked"),
        ("b", 1, "blocked"),
    ]
    assert found.state.memory_entries == ()
    assert found.state.step_statuses["plan:1/step:b"] is StepStatus.PENDING
    assert [task.key for task in found.tasks] == ["turn:1"]


async def test_a_step_is_a_task_that_is_claimed_with_its_row(store: Store, clock: ManualClock) -> None:
    session_id, taken = await begun(store, clock)
    assert (taken.view.task.kind, taken.view.task.key) == ("step", "step:1:a")
    assert taken.view.step is not None
    assert (taken.view.step.step, taken.view.step.phase) == ("a", "tasked")
    assert [call.step_id for call in taken.view.calls] == ["step:1:a"]
    assert taken.claim.session_id == session_id


async def test_a_decision_reads_the_rows_as_its_transaction_finds_them(store: Store, clock: ManualClock) -> None:
    """Items in order, results of what was completed, what is queued and what has not ended."""
    _, taken = await begun(store, clock)
    each = StepRun(plan=1, step="each", place=1, status=StepStatus.RUNNING, phase="spread", items=2, laid=2)
    items = [StepRun(plan=1, step="each", item=n, place=1, phase="queued") for n in range(2)]
    done = items[0].model_copy(update={"status": StepStatus.COMPLETED, "phase": "over"})
    changes = PlanChanges(
        number=1,
        runs=(each, done, items[1]),
        values=(StepValue(step="each", item=0, value="x"), StepValue(step="each", item=1, value=["y"])),
        results=(StepValue(step="each", item=0, value={"n": 1}), StepValue(step="a", value="kept")),
    )
    await store.commit(taken.claim, writing(Changes(plan=changes)))
    seen: dict[str, object] = {}

    def look(view: SessionView) -> Changes:
        assert view.plan is not None
        seen["inputs"] = view.plan.inputs()
        seen["run"] = view.plan.run("each").phase
        seen["items"] = [run.item for run in view.plan.items("each")]
        seen["item_results"] = view.plan.item_results("each", 2)
        seen["queued"] = [(run.step, run.item) for run in view.plan.queued(5)]
        seen["unfinished"] = [(run.step, run.item) for run in view.plan.unfinished()]
        seen["another"] = view.plan.another_runs()
        return Changes()

    await store.commit(taken.claim, look)
    assert seen == {
        "inputs": {"n": 5},
        "run": "spread",
        "items": [0, 1],
        "item_results": [{"n": 1}, None],
        "queued": [("each", 1)],
        "unfinished": [("a", WHOLE), ("each", WHOLE), ("each", 1), ("b", WHOLE)],
        "another": False,
    }
    worked_with = await store.step_inputs(taken.claim.session_id, items[1], ["a"])
    assert (worked_with.inputs, worked_with.results, worked_with.item) == ({"n": 5}, {}, ["y"])


async def test_a_lost_claim_changes_nothing_of_a_plan(store: Store, clock: ManualClock) -> None:
    session_id, taken = await begun(store, clock)
    before = await store.detail(session_id)
    late = taken.claim.model_copy(update={"fence": taken.claim.fence - 1})
    run = StepRun(plan=1, step="a", status=StepStatus.COMPLETED, phase="over")
    changes = PlanChanges(number=1, runs=(run,), results=(StepValue(step="a", value=1),), ready=("step:1:b",))
    with pytest.raises(ClaimLost):
        await store.commit(late, writing(Changes(plan=changes)))
    assert await store.detail(session_id) == before


async def test_a_steps_task_is_taken_off_unless_it_runs_and_can_be_ready_again(
    store: Store, clock: ManualClock
) -> None:
    session_id, taken = await begun(store, clock)
    ready = PlanChanges(number=1, ready=("step:1:b",))
    await store.commit(taken.claim, writing(Changes(plan=ready)))
    off = PlanChanges(number=1, off=("step:1:b", "step:1:a"))
    await store.commit(taken.claim, writing(Changes(plan=off)))
    tasks = {task.key: task for task in (await store.detail(session_id)).tasks}
    assert (tasks["step:1:b"].status, tasks["step:1:a"].status) == (TaskStatus.DONE, TaskStatus.RUNNING)
    await store.commit(taken.claim, writing(Changes(plan=ready)))
    again = {task.key: task for task in (await store.detail(session_id)).tasks}["step:1:b"]
    assert again.status is TaskStatus.READY
    assert again.fence > tasks["step:1:b"].fence


async def test_who_waits_for_a_session_is_ready_once_that_has_ended(store: Store, clock: ManualClock) -> None:
    """The child is there with the commit that begins to wait, and its end wakes in the commit that ends it."""
    session_id, taken = await begun(store, clock)
    child = new_session(clock)
    child_id = child.index.session_id
    waits = TaskOutcome(kind="waiting", waits_for=session_end(child_id))
    await store.commit(taken.claim, writing(Changes(task=waits, child=child)))
    assert (await store.detail(child_id)).state.status is SessionStatus.CREATED

    of_child = await take(store, child_id)
    ended = await store.commit(of_child.claim, writing(Changes(task=TaskOutcome(kind="done"), ends_session=True)))
    assert ended.woken == (taken.claim.task_id,)
    task = {task.key: task for task in (await store.detail(session_id)).tasks}["step:1:a"]
    assert (task.status, task.waits_for) == (TaskStatus.READY, None)


async def test_a_session_whose_tasks_all_wait_has_one_that_reads_its_signals(
    store: Store, clock: ManualClock
) -> None:
    session_id, taken = await begun(store, clock)
    waits = TaskOutcome(kind="waiting", waits_for=session_end("another"))
    await store.commit(taken.claim, writing(Changes(task=waits)))
    await store.add_signal(session_id, signal(SignalKind.CANCEL))
    live = (await store.standing(session_id)).live_tasks
    assert {task.key: task.status for task in live} == {
        "step:1:a": TaskStatus.WAITING,
        "turn:2": TaskStatus.READY,
    }


async def test_a_commit_can_send_a_signal_to_another_session(store: Store, clock: ManualClock) -> None:
    _, taken = await begun(store, clock)
    other = await created(store, clock)
    sent = SentSignal(session_id=other, signal=signal(SignalKind.CANCEL))
    await store.commit(taken.claim, writing(Changes(sent=(sent,))))
    assert [one.kind for one in (await store.detail(other)).signals] == [SignalKind.CANCEL]


async def test_an_edited_plan_takes_the_place_of_the_one_that_was_there(store: Store, clock: ManualClock) -> None:
    session_id, taken = await begun(store, clock)
    edited = PLAN.model_copy(update={"name": "edited"})
    new = NewPlan(digest=digest_of(edited), plan=edited, inputs={"n": 6})
    progress = PlanProgress.model_validate(taken.view.state.current_plan).model_copy(update={"digest": new.digest})
    state = taken.view.state.model_copy(update={"current_plan": progress.model_dump(mode="json")})
    told = NewEvent(type=EventType.PLAN_CHANGED)
    changes = Changes(state=state, plan=PlanChanges(number=1, edited=new), events=(told,))
    done = await store.commit(taken.claim, writing(changes))
    found = (await store.detail(session_id)).plan
    assert found is not None
    assert (found.plan.name, found.inputs) == ("edited", {"n": 6})
    assert done.view.plan is not None
    assert done.view.plan.definition.plan == edited
