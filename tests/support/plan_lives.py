"""Lives of played processes over one plan's session, and what must hold of it whatever died."""

from __future__ import annotations

import asyncio
from pathlib import Path

from nonoka.engine.accept_plan import NO_MODEL, PlanRequest, create_plan_session
from nonoka.engine.ports import Ports
from nonoka.ports.store import Store
from nonoka.records.commit import Committed, SessionDetail
from nonoka.records.plan import Plan, Retry, Step
from nonoka.records.runtime import RuntimeLimits
from nonoka.records.session import SessionStatus
from nonoka.records.step_run import PlanProgress
from nonoka.records.task import TaskStatus
from tests.support.lives import Lives, StoreKind, Way
from tests.support.oracle import Oracle

#: Two diamonds, a fan-out, a command, a payment, a step that fails once, one that isn't taken, one that is
#: skipped for it, and one that comes at last.
PLAN = Plan(
    name="crash",
    steps=(
        Step(id="hall", tool="look", args={"place": "hall"}),
        Step(id="note", tool="write", args={"path": "notes.txt", "text": "${hall}"}),
        Step(id="build", tool="build", args={"target": "app"}, depends_on=("hall",)),
        Step(id="pay", tool="pay", args={"amount": 5}, depends_on=("note", "build")),
        Step(id="each", tool="post", args={"text": "${item} ${index}"}, for_each=["a", "b", "c"], max_parallel=2),
        Step(id="again", tool="stumble", args={"text": "${each[1]}"}, retry=Retry(attempts=3, backoff_s=0.1)),
        Step(id="no", tool="pay", args={"amount": 6}, when="'full' in ${hall}"),
        Step(id="after_no", tool="pay", args={"amount": 7}, depends_on=("no",)),
        Step(id="end", tool="post", args={"text": "${pay} ${again}"}, depends_on=("after_no?",)),
    ),
    finally_steps=(Step(id="tidy", tool="post", args={"text": "${end}"}),),
    outputs={"end": "${end}", "each": "${each}"},
)


#: A step that is a session of its own between two that aren't, and one over whose items two more are made.
CHILDREN = Plan(
    name="children",
    steps=(
        Step(id="hall", tool="look", args={"place": "hall"}),
        Step(id="kid", agent="crash", task="look after ${hall}"),
        Step(id="end", tool="post", args={"text": "${kid}"}),
    ),
)


def plan_request(plan: Plan, agent: str, working_dir: Path, model: str = NO_MODEL) -> PlanRequest:
    """A session that runs this plan with the crash tests' agent."""
    limits = RuntimeLimits(max_tool_calls=None, max_model_turns=None)
    return PlanRequest(plan=plan, inputs={}, agent=agent, model=model, working_dir=working_dir, limits=limits)


class PlanLives(Lives):
    """One store, one session that runs a plan, and the processes that work on it one after another."""

    def __init__(self, directory: Path, store_kind: StoreKind, way: Way, plan: Plan = PLAN) -> None:
        super().__init__(directory, store_kind, way)
        self._plan = plan
        self._before: SessionDetail | None = None
        self._ran = 0

    async def detail(self) -> SessionDetail:
        """Everything about the plan's session."""
        store = await self._open()
        try:
            return await store.detail(await _plan_in(store))
        finally:
            await store.close()

    async def children(self) -> list[SessionDetail]:
        """Everything about the sessions of its steps."""
        store = await self._open()
        try:
            lines = await store.list_sessions(limit=100)
            return [await store.detail(line.index.session_id) for line in lines if line.index.kind == "react"]
        finally:
            await store.close()

    async def _session(self, store: Store) -> str:
        return await _plan_in(store)

    async def _create(self, ports: Ports, claim_by: str | None) -> tuple[str, Committed | None]:
        request = plan_request(self._plan, "crash", self.workspace, self._model)
        return await create_plan_session(ports.store, ports.clock, request, claim_by=claim_by)

    async def _work(self, ports: Ports, session_id: str) -> None:
        passing = asyncio.create_task(self._let_time_pass())
        try:
            while True:
                await super()._work(ports, session_id)
                session_id = await _plan_in(ports.store)
                if (await ports.store.standing(session_id)).at_rest:
                    return
                await asyncio.sleep(0.001)  # a step waits to be tried again
        finally:
            passing.cancel()

    async def _let_time_pass(self) -> None:
        while True:
            await asyncio.sleep(0.001)
            self._clock.advance_ms(25)

    async def _judge(self) -> None:
        store = await self._open()
        session_id = await _plan_in(store)
        after = await store.detail(session_id) if session_id else None
        await store.close()
        ran = self.oracle.ran(session_id)
        if after is not None:
            self.faults += plan_life_faults(self._before, after, self.oracle, self._ran)
        self._before, self._ran = after, len(ran)


async def _plan_in(store: Store) -> str:
    lines = [line for line in await store.list_sessions(limit=100) if line.index.kind == "plan"]
    assert len(lines) <= 1, "the plan was stored twice"
    return lines[0].index.session_id if lines else ""


def plan_life_faults(before: SessionDetail | None, after: SessionDetail, oracle: Oracle, seen: int) -> list[str]:
    """What the processes that lived between these two moments did and must not have done."""
    session_id = after.index.session_id
    rows = {run.key: run for run in before.plan.runs} if before is not None and before.plan is not None else {}
    faults, last = [], {key: run.attempt for key, run in rows.items()}
    for one in oracle.ran(session_id)[seen:]:
        row = rows.get(one.tool_call_id)
        if row is not None and row.over:
            faults.append(f"{one.tool_call_id} ran again, and its result was committed")
        if one.idempotency_key != f"{session_id}:{one.tool_call_id}":
            faults.append(f"{one.tool_call_id} ran under the key {one.idempotency_key}")
        if one.attempt != last.get(one.tool_call_id, 0) + 1:
            faults.append(f"{one} was not the attempt after {last.get(one.tool_call_id, 0)}")
        if one.left_over:
            faults.append(f"{one} ran beside processes of an earlier attempt")
        last[one.tool_call_id] = one.attempt
    return faults


def plan_end_faults(detail: SessionDetail, undisturbed: SessionDetail) -> list[str]:
    """In what the plan's end differs from an undisturbed run's, or is wrong in itself."""
    faults = []
    assert detail.plan is not None
    assert undisturbed.plan is not None
    if detail.state.status is not SessionStatus.COMPLETED:
        faults.append(f"it is {detail.state.status}: {detail.state.runtime_state.termination}")
    if standings(detail) != standings(undisturbed):
        faults.append(f"its steps stand so: {standings(detail)}")
    if detail.plan.results != undisturbed.plan.results or detail.plan.outputs != undisturbed.plan.outputs:
        faults.append(f"it brought something else: {detail.plan.results} {detail.plan.outputs}")
    over = (TaskStatus.DONE, TaskStatus.DEAD)
    if live := [task.key for task in detail.tasks if task.status not in over]:
        faults.append(f"it has live tasks: {live}")
    progress = PlanProgress.model_validate(detail.state.current_plan)
    if (progress.open, progress.open_finally, progress.active, progress.queued) != (0, 0, 0, 0):
        faults.append(f"it counted wrong: {progress}")
    calls = detail.state.runtime_state.session_usage.tool_calls
    if calls != undisturbed.state.runtime_state.session_usage.tool_calls:
        faults.append(f"it counted {calls} calls")
    if (told := finished(detail)) != finished(undisturbed):
        faults.append(f"its events tell something else: {told}")
    return faults


def standings(detail: SessionDetail) -> dict[str, tuple[str, str | None]]:
    """How each step and item ended, and why it was skipped."""
    assert detail.plan is not None
    return {run.step_id: (run.status.value, run.reason) for run in detail.plan.runs}


def finished(detail: SessionDetail) -> list[tuple[str, object, object]]:
    """What is told once of each step, in any order."""
    once = ("step_finished", "step_skipped", "plan_finished", "session_completed")
    told = [e for e in detail.events if e.type.value in once]
    return sorted((e.type.value, e.data.get("step") or "", str(e.data.get("item"))) for e in told)


def order_faults(detail: SessionDetail) -> list[str]:
    """Steps that began before something that they wait for had ended."""
    assert detail.plan is not None
    ended: set[str] = set()
    waits = {step.id: step for step in detail.plan.plan.steps}
    faults = []
    for event in detail.events:
        step = event.data.get("step")
        if event.type.value == "step_started" and step in waits:
            before = [name.removesuffix("?") for name in waits[str(step)].depends_on]
            faults += [f"{step} began before {name} had ended" for name in before if name not in ended]
        whole = event.data.get("item") is None
        if event.type.value in ("step_finished", "step_skipped") and whole:
            ended.add(str(step))
    return faults
