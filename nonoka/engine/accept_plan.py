"""The way in of a plan: a session of its own, stored with the plan and a row for each step."""

from __future__ import annotations

from pathlib import Path

from nonoka.decisions import task_kinds
from nonoka.decisions.plan_shape import Shape
from nonoka.decisions.plan_start import digest_of, first_progress, first_runs
from nonoka.decisions.titles import title_of
from nonoka.engine.accept import resolved
from nonoka.engine.deciding import deciding
from nonoka.errors import KeyTaken
from nonoka.ports.clock import Clock
from nonoka.ports.store import SessionStore
from nonoka.records.base import JsonObject, Record
from nonoka.records.commit import Committed, NewSession
from nonoka.records.event import EventType, NewEvent
from nonoka.records.plan import Plan
from nonoka.records.runtime import RuntimeLimits, SessionRuntimeState
from nonoka.records.session import SessionIndex, SessionState
from nonoka.records.step_run import NewPlan

#: A plan asks a model only where a step says so; its session names none where no step does.
NO_MODEL = "none"


class PlanRequest(Record):
    """What a new session that runs a plan is asked to be. ``file`` is where the plan came from."""

    plan: Plan
    inputs: JsonObject
    agent: str
    model: str
    working_dir: Path
    limits: RuntimeLimits
    file: str | None = None
    parent: str | None = None
    enqueue_key: str | None = None


async def create_plan_session(
    store: SessionStore, clock: Clock, request: PlanRequest, *, claim_by: str | None = None
) -> tuple[str, Committed | None]:
    """The session is stored with its plan, a row for each step, and the task that begins it; returns its id.

    As ``create_session`` in everything else.
    """
    new = new_plan_session(clock, request)
    try:
        first = deciding(task_kinds.begin)
        return new.index.session_id, await store.create_session(new, claim_by=claim_by, decide=first)
    except KeyTaken as taken:
        return taken.session_id, None


def new_plan_session(clock: Clock, request: PlanRequest) -> NewSession:
    """The session as it is stored. Raises UsageError."""
    session_id, now = clock.new_id(), clock.now_ms()
    plan = NewPlan(digest=digest_of(request.plan), plan=request.plan, inputs=request.inputs)
    working_dir = resolved(request.working_dir)
    progress = first_progress(plan, file=request.file)
    told = {"agent": request.agent, "model": request.model, "working_dir": working_dir}
    return NewSession(
        index=SessionIndex(
            session_id=session_id,
            kind="plan",
            title=title_of(request.plan.name),
            working_dir=working_dir,
            agent=request.agent,
            model=request.model,
            created_at=now,
            last_active=now,
            parent=request.parent,
            metadata={"enqueue_key": request.enqueue_key} if request.enqueue_key is not None else {},
        ),
        state=SessionState(
            session_id=session_id,
            start_time=now,
            current_plan=progress.model_dump(mode="json"),
            step_count=len(request.plan.steps) + len(request.plan.finally_steps),
            runtime_state=SessionRuntimeState(limits=request.limits),
        ),
        events=(NewEvent(type=EventType.SESSION_CREATED, data={**told, "plan": request.plan.name}),),
        plan=plan,
        runs=first_runs(Shape(request.plan), plan.number),
    )
