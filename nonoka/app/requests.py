"""What a new session is asked to be, from a prompt and the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nonoka.agents.agent import Agent
from nonoka.agents.registry import normalized
from nonoka.engine.accept import SessionRequest
from nonoka.engine.ports import Ports
from nonoka.errors import UsageError
from nonoka.records.runtime import RuntimeLimits
from nonoka.settings import Settings


def request_for(
    ports: Ports,
    settings: Settings,
    prompt: str,
    *,
    agent: str | None = None,
    limits: dict[str, Any] | None = None,
) -> SessionRequest:
    """What a new session is asked to be, checked as far as it can be here. Raises UsageError."""
    if not prompt.strip():
        raise UsageError("the prompt is empty; say what is to be done")
    name, loaded = named_agent(ports, settings, agent)
    model = settings.model or loaded.model
    if model is None:
        raise UsageError(
            "no model: pass --model, or set NONOKA_MODEL (openai:NAME, or script:FILE to try without a key)"
        )
    ports.snapshots.refuse_unfit(settings.cwd.resolve())
    merged = loaded.limits.model_dump() | settings.limits.model_dump(exclude_unset=True) | (limits or {})
    return SessionRequest(
        prompt=prompt,
        agent=name,
        model=ports.models.normalized(model),
        working_dir=settings.cwd,
        limits=RuntimeLimits.model_validate(merged),
        isolation=settings.isolation,
    )


def named_agent(ports: Ports, settings: Settings, agent: str | None) -> tuple[str, Agent]:
    """The agent, and its name as it is stored. Raises AgentUnloadable."""
    name = agent or settings.agent
    if ":" in name:
        name = normalized(name, Path.cwd())
    return name, ports.agents.load(name)
