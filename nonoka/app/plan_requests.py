"""What a new session that runs a plan is asked to be, from the plan and the settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from nonoka.agents.plan_tools import agent_complaints, argument_schemas, plan_tools
from nonoka.agents.registry import normalized
from nonoka.app.requests import named_agent
from nonoka.decisions.plan_check import demand_sound
from nonoka.decisions.plan_inputs import checked_inputs
from nonoka.engine.accept_plan import NO_MODEL, PlanRequest
from nonoka.engine.ports import Ports
from nonoka.errors import UsageError
from nonoka.records.plan import Plan, Step
from nonoka.records.runtime import RuntimeLimits
from nonoka.settings import Settings

#: What bounds a conversation that goes astray bounds no plan: its steps are written down.
_UNBOUNDED = RuntimeLimits(max_model_turns=None, max_tool_calls=None)


def plan_request_for(
    ports: Ports,
    settings: Settings,
    plan: Plan,
    *,
    inputs: Mapping[str, JsonValue] | None = None,
    texts: Iterable[str] = (),
    agent: str | None = None,
    limits: dict[str, Any] | None = None,
    file: str | None = None,
) -> PlanRequest:
    """What a new session is asked to be, checked as far as it can be here. Raises PlanInvalid, UsageError.

    ``inputs`` are values by name, ``texts`` such as ``name=value``.
    """
    name, loaded = named_agent(ports, settings, agent)
    plan = _with_absolute_agents(plan)
    demand_sound(plan, argument_schemas(plan_tools(loaded)), agent_complaints(ports.agents))
    values = checked_inputs(plan.inputs, inputs or {}, texts)
    asks = [step.id for step in (*plan.steps, *plan.finally_steps) if _asks_the_sessions_model(ports, step)]
    model = settings.model or loaded.model
    if asks and model is None:
        raise UsageError(
            f"step {asks[0]!r} asks a model: pass --model, or set NONOKA_MODEL (openai:NAME, or script:FILE)"
        )
    merged = _UNBOUNDED.model_dump() | settings.limits.model_dump(exclude_unset=True) | (limits or {})
    return PlanRequest(
        plan=plan,
        inputs=values,
        agent=name,
        model=NO_MODEL if model is None else ports.models.normalized(model),
        working_dir=settings.cwd,
        limits=RuntimeLimits.model_validate(merged),
        file=file,
    )


def _with_absolute_agents(plan: Plan) -> Plan:
    # A file's path is the one that it has here, wherever the worker is that loads it.
    def absolute(step: Step) -> Step:
        if step.agent is None or ":" not in step.agent:
            return step
        return step.model_copy(update={"agent": normalized(step.agent, Path.cwd())})

    steps, finals = map(absolute, plan.steps), map(absolute, plan.finally_steps)
    return plan.model_copy(update={"steps": tuple(steps), "finally_steps": tuple(finals)})


def _asks_the_sessions_model(ports: Ports, step: Step) -> bool:
    return step.prompt is not None or (step.agent is not None and ports.agents.load(step.agent).model is None)
