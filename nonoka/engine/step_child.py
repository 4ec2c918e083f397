"""A plan's step that is the run of an agent: a session of its own, and what it came to."""

from __future__ import annotations

from nonoka.agents.plain_value import clean_text
from nonoka.decisions.final_answer import final_answer
from nonoka.decisions.titles import title_of
from nonoka.engine.ports import Ports
from nonoka.errors import UnknownSession
from nonoka.records.commit import NewSession, SessionView
from nonoka.records.event import EventType, NewEvent
from nonoka.records.plan import Step
from nonoka.records.runtime import RuntimeLimits, RuntimeUsage, SessionRuntimeState
from nonoka.records.session import SessionIndex, SessionState, SessionStatus
from nonoka.records.step import StepError, StepOutcome, StepValueGot
from nonoka.records.step_run import StepRun

_ENDED = (SessionStatus.COMPLETED, SessionStatus.FAILED, SessionStatus.CANCELLED)
#: Figures of a usage, and the limits that they count against.
_FIGURES = ("model_turns", "tool_calls", "input_tokens", "output_tokens", "total_tokens", "cost_usd")


def new_child(ports: Ports, view: SessionView, run: StepRun, step: Step, task: str) -> NewSession:
    """The session as it is stored: in the parent's workspace, within what is left of the parent's budget and time.

    Raises AgentUnloadable.
    """
    agent_name = step.agent or ""
    agent = ports.agents.load(agent_name)
    left = limits_left(agent.limits, view.state.runtime_state, ports.clock.now_ms())
    session_id, now, parent = ports.clock.new_id(), ports.clock.now_ms(), view.index
    model = parent.model if agent.model is None else ports.models.normalized(agent.model)
    prompt = clean_text(task)
    told = {"agent": agent_name, "model": model, "working_dir": parent.working_dir, "parent": parent.session_id}
    return NewSession(
        index=SessionIndex(
            session_id=session_id,
            title=title_of(prompt),
            working_dir=parent.working_dir,
            agent=agent_name,
            model=model,
            created_at=now,
            last_active=now,
            parent=parent.session_id,
            metadata={"step": run.step},
        ),
        state=SessionState(
            session_id=session_id,
            start_time=now,
            runtime_state=SessionRuntimeState(limits=_timed(left, step.timeout_s)),
        ),
        prompt=prompt,
        events=(
            NewEvent(type=EventType.SESSION_CREATED, data={**told, "step": run.step_id}),
            NewEvent(type=EventType.PROMPT_ACCEPTED, data={"position": 0}),
        ),
    )


def _timed(limits: RuntimeLimits, timeout_s: float | None) -> RuntimeLimits:
    if timeout_s is None:
        return limits
    wall_s = timeout_s if limits.session_max_wall_s is None else min(timeout_s, limits.session_max_wall_s)
    return limits.model_copy(update={"session_max_wall_s": wall_s})


def limits_left(own: RuntimeLimits, parent: SessionRuntimeState, now: int) -> RuntimeLimits:
    """The child's own limits, none of them wider than what its parent may still use."""
    found = own.model_dump()
    for figure in _FIGURES:
        for prefix, usage in (("", parent.usage), ("session_", parent.session_usage)):
            limit = getattr(parent.limits, f"{prefix}max_{figure}")
            if limit is not None:
                left = max(limit - getattr(usage, figure), 0.000001 if figure == "cost_usd" else 1)
                name = f"session_max_{figure}"
                found[name] = left if found[name] is None else min(found[name], left)
    if parent.deadline_at is not None:
        left_s = max(0.1, (parent.deadline_at - now) / 1000)
        wall = found["session_max_wall_s"]
        found["session_max_wall_s"] = left_s if wall is None else min(wall, left_s)
    return RuntimeLimits.model_validate(found)


async def child_outcome(ports: Ports, run: StepRun, timeout_s: float | None = None) -> StepOutcome | None:
    """What the child session has come to; None while it has not ended. ``timeout_s`` is what its step gave it."""
    if run.child is None:
        raise TypeError(f"step {run.step!r} waits for no session")
    try:
        state = await ports.store.load_session(run.child)
    except UnknownSession:
        return StepError(error_type="child_deleted", message=f"its session {run.child} was deleted")
    if state.status not in _ENDED:
        return None
    used = state.runtime_state.session_usage
    usage = _counted(used)
    answer = final_answer(state)
    if state.status is SessionStatus.COMPLETED and answer is not None:
        return StepValueGot(value=answer, usage=usage)
    ended = state.runtime_state.termination
    if timeout_s is not None and used.active_ms >= timeout_s * 1000 and state.status is SessionStatus.FAILED:
        message = f"session {run.child} was ended after its {timeout_s:g} s"
        return StepError(error_type="timeout", message=message, usage=usage)
    if state.status is SessionStatus.FAILED and ended is not None:
        message = f"session {run.child}: {ended.error_type}: {ended.message}"
        return StepError(error_type="child_failed", message=message, usage=usage)
    return StepError(error_type="child_cancelled", message=f"session {run.child} was cancelled", usage=usage)


def _counted(usage: RuntimeUsage) -> RuntimeUsage:
    # The parent's own clock has run meanwhile: the child's time is in it.
    return usage.model_copy(update={"active_ms": 0})
