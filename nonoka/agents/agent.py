"""An agent: instructions, a model, tools and limits."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nonoka.agents.tool import Tool, make_tool
from nonoka.errors import UsageError
from nonoka.records.runtime import RuntimeLimits
from nonoka.records.tool import ToolSpec

#: What a model is given of one result; the whole of a longer one is kept beside the store.
MAX_TOOL_RESULT_BYTES = 32_768
#: Less than this leaves no room for the head, the tail and the line between them.
LEAST_TOOL_RESULT_BYTES = 512


@dataclass(frozen=True, init=False)
class Agent:
    """What a session talks to.

    ``model`` None means that the session names it. ``deps`` is called without arguments to make what its
    tools find in ``ToolContext.deps``. Functions among the tools become tools of effect external. Raises
    UsageError for what can't be.
    """

    name: str
    instructions: str
    model: str | None
    tools: tuple[Tool, ...]
    limits: RuntimeLimits
    deps: Callable[[], Any] | None
    max_tool_result_bytes: int

    def __init__(
        self,
        name: str,
        instructions: str = "",
        *,
        model: str | None = None,
        tools: Sequence[Tool | Callable[..., Any]] = (),
        limits: RuntimeLimits = RuntimeLimits(),  # noqa: B008 — frozen
        deps: Callable[[], Any] | None = None,
        max_tool_result_bytes: int = MAX_TOOL_RESULT_BYTES,
    ) -> None:
        if not name.strip() or not name.isprintable():
            raise UsageError(f"an agent's name is a line of text, not {name!r}")
        if deps is not None and not callable(deps):
            raise UsageError(f"agent {name!r}: deps is a function that makes them, not {type(deps).__name__}")
        if max_tool_result_bytes < LEAST_TOOL_RESULT_BYTES:
            raise UsageError(f"agent {name!r}: max_tool_result_bytes is at least {LEAST_TOOL_RESULT_BYTES}")
        values = {
            "name": name,
            "instructions": instructions,
            "model": model,
            "tools": _made(name, tools),
            "limits": limits,
            "deps": deps,
            "max_tool_result_bytes": max_tool_result_bytes,
        }
        for field, value in values.items():
            object.__setattr__(self, field, value)

    def tool(self, name: str) -> Tool | None:
        """The tool of this name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    @functools.cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Its tools as a model is told of them."""
        return tuple(tool.spec for tool in self.tools)


def _made(agent: str, tools: Sequence[Tool | Callable[..., Any]]) -> tuple[Tool, ...]:
    made: dict[str, Tool] = {}
    for given in tools:
        tool = given if isinstance(given, Tool) else make_tool(given, {})
        if tool.name in made:
            raise UsageError(f"agent {agent!r} has two tools named {tool.name!r}; give one another name")
        made[tool.name] = tool
    return tuple(made.values())
