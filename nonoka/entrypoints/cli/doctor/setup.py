"""Whether a session could be made here: its agent, and the model that it would ask."""

from __future__ import annotations

from pathlib import Path

from nonoka.agents.agent import Agent
from nonoka.agents.registry import Registry, normalized
from nonoka.app import model_catalog
from nonoka.entrypoints.cli.doctor.finding import Finding
from nonoka.entrypoints.cli.figures import counted, shortened
from nonoka.errors import AgentUnloadable, ModelFailure, UsageError
from nonoka.ports.model import Models
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.model import ModelRequest
from nonoka.settings import Settings

_QUESTION = "Answer with the one word: ready"


async def setup(settings: Settings, *, ask: bool) -> list[Finding]:
    """What was found of both; the model is called only if it is to be asked."""
    try:
        name = normalized(settings.agent, Path.cwd())
        agent = Registry().load(name)
    except AgentUnloadable as error:
        told = Finding("agent", "wrong", str(error), "mend it, or name another with --agent (NONOKA_AGENT)")
        return [told, await _model(settings, None, ask=ask)]
    found = Finding("agent", "ok", f"{name} loads, with {counted(len(agent.tools), 'tool')}")
    return [found, await _model(settings, agent, ask=ask)]


async def _model(settings: Settings, agent: Agent | None, *, ask: bool) -> Finding:
    name = settings.model or (agent.model if agent is not None else None)
    if name is None:
        return Finding(
            "model",
            "wrong",
            "none is set",
            "set NONOKA_MODEL (or model in nonoka.toml) to one such as openai:gpt-4o-mini, or pass --model",
        )
    models = model_catalog()
    try:
        name = models.normalized(name)
        models.check(name)
        if not ask:
            return Finding("model", "ok", f"{name} is set up; whether it answers: nonoka doctor --ask")
        return Finding("model", "ok", f"{name} answered: {await _answer(models, name)!r}")
    except (UsageError, ModelFailure) as error:
        return Finding("model", "wrong", " ".join(str(error).split()), f"see docs/models.md about {name!r}")


async def _answer(models: Models, name: str) -> str:
    model = await models.get(name)
    asked = MemoryEntry(position=0, role=MemoryRole.USER, content=_QUESTION)
    answer = await model.respond(ModelRequest(session_id="doctor", instructions="", entries=(asked,)), _ignore)
    return shortened(answer.text, 40)


async def _ignore(text: str) -> None:
    """What streams isn't shown: the answer is."""
