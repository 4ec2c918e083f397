"""Calls an agent's tools in a directory, as the engine does: arguments checked, the result as text."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nonoka.agents.agent import Agent
from nonoka.agents.builtin import default_agent
from nonoka.agents.context import Results, ToolContext
from nonoka.agents.result_text import stored_text
from nonoka.agents.workspace_files import WorkspaceFiles
from nonoka.ports.processes import CommandResult


@dataclass
class ToolCalls:
    """``await calls("read_file", path="x")``.

    Commands aren't run: ``asked`` has them, ``ended`` is how they end.
    """

    root: Path
    agent: Agent = field(default_factory=lambda: default_agent({}))
    attempt: int = 1
    results: Results | None = None
    max_result_bytes: int = 32_768
    ended: CommandResult = field(default_factory=lambda: CommandResult(exit_code=0, output=b""))
    asked: list[tuple[str, float]] = field(default_factory=list)

    async def __call__(self, name: str, **args: Any) -> str:
        tool = self.agent.tool(name)
        assert tool is not None
        return stored_text(await tool.invoke(self._context(), tool.validated(args)))

    def again(self) -> ToolCalls:
        """The same calls, in their next attempt."""
        return replace(self, attempt=self.attempt + 1)

    def _context(self) -> ToolContext:
        return ToolContext(
            session_id="s",
            tool_call_id="c",
            idempotency_key="k",
            attempt=self.attempt,
            workspace=WorkspaceFiles(self.root, frozenset),
            spawn=self._spawn,
            results=self.results,
            max_result_bytes=self.max_result_bytes,
        )

    async def _spawn(self, command: str, timeout_s: float) -> CommandResult:
        self.asked.append((command, timeout_s))
        return self.ended
