"""Finds agents by the name that a session stores: "default", "MODULE:NAME" or "FILE.py:NAME"."""

from __future__ import annotations

import os
from pathlib import Path

from nonoka.agents.agent import Agent
from nonoka.agents.agent_source import agents_in, import_file, import_named
from nonoka.agents.builtin import default_agent
from nonoka.errors import AgentUnloadable, UsageError

DEFAULT = "default"


class Registry:
    """The agents of this process: registered ones, and those loaded so far."""

    def __init__(self) -> None:
        self._registered: dict[str, Agent] = {}
        self._default: Agent | None = None

    def register(self, agent: Agent) -> str:
        """The agent is found by its own name, which is returned; it replaces an earlier one of that name."""
        if agent.name == DEFAULT or ":" in agent.name:
            raise UsageError(
                f"an agent named {agent.name!r} can't be registered: that name finds another; rename it"
            )
        self._registered[agent.name] = agent
        return agent.name

    def load(self, name: str) -> Agent:
        """The agent of this name. A file that has changed is read anew. Raises AgentUnloadable."""
        if name in self._registered:
            return self._registered[name]
        if name == DEFAULT:
            self._default = self._default or default_agent()
            return self._default
        return load_agent(name)


def load_agent(name: str) -> Agent:
    """The agent of this name, imported if need be. Raises AgentUnloadable, with one line that says why."""
    if name == DEFAULT:
        return default_agent()
    source, attribute = _parted(name)
    module = import_file(name, Path(source)) if _is_file(source) else import_named(name, source)
    if not hasattr(module, attribute):
        there = ", ".join(repr(found) for found in agents_in(module)) or "none"
        raise AgentUnloadable(f"agent {name!r}: {source!r} has no {attribute!r}; its agents: {there}")
    found = getattr(module, attribute)
    if not isinstance(found, Agent):
        raise AgentUnloadable(f"agent {name!r}: {attribute!r} is not an Agent, it is a {type(found).__name__}")
    return found


def normalized(name: str, cwd: Path) -> str:
    """The name as it is stored: a file's path absolute. Raises AgentUnloadable for what can't be a name."""
    if name == DEFAULT:
        return name
    source, attribute = _parted(name)
    if not _is_file(source):
        return name
    return f"{os.path.abspath(cwd / Path(source).expanduser())}:{attribute}"


def _parted(name: str) -> tuple[str, str]:
    source, _, attribute = name.rpartition(":")
    if not source or not attribute.isidentifier():
        raise AgentUnloadable(f"agent {name!r}: name it MODULE:NAME, FILE.py:NAME, or {DEFAULT!r}")
    return source, attribute


def _is_file(source: str) -> bool:
    return source.endswith(".py") or "/" in source
