"""What a tool is told about its call, and what it may use. Made by the engine for each attempt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from nonoka.agents.workspace_files import WorkspaceFiles
from nonoka.errors import ToolFailure
from nonoka.ports.artifacts import Excerpt
from nonoka.ports.processes import CommandResult

#: Runs a command (its text, seconds it may take) in the engine's custody.
Spawn = Callable[[str, float], Awaitable[CommandResult]]
#: Reads a kept result of the session (its handle, the first character, how many at most).
Results = Callable[[str, int, int], Excerpt | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """A call, as its tool sees it.

    ``idempotency_key`` is the same in every attempt of the call and of no other call: hand it to whatever
    you change, so that a repeat is recognised. ``attempt`` counts from 1. ``deps`` is what the agent's
    ``deps`` factory made. ``workspace`` is None unless the tool's effect is read_only or workspace.
    ``max_result_bytes`` is how much of a result the model is given as it is.
    """

    session_id: str
    tool_call_id: str
    idempotency_key: str
    attempt: int = 1
    deps: Any = None
    workspace: WorkspaceFiles | None = None
    spawn: Spawn | None = None
    results: Results | None = None
    max_result_bytes: int = 32_768

    @property
    def files(self) -> WorkspaceFiles:
        """The workspace. Raises ToolFailure where the call has none."""
        if self.workspace is None:
            raise ToolFailure("this call has no workspace: its effect is neither read_only nor workspace")
        return self.workspace

    def kept_result(self, handle: str, offset: int, limit: int) -> Excerpt | None:
        """A part of an earlier result of this session that was too large for the conversation; None if there
        is none of that handle. It may block."""
        if self.results is None:
            raise ToolFailure("this call can't read kept results")
        return self.results(handle, offset, limit)

    async def run(self, command: str, *, timeout_s: float) -> CommandResult:
        """Run a shell command in the workspace; it is ended with the call, whatever happens to this process.

        ``exit_code`` is None if it was ended for its time. Raises ToolFailure where commands aren't allowed.
        """
        if self.spawn is None:
            raise ToolFailure("this call can't run commands: a tool that only reads may not")
        return await self.spawn(command, timeout_s)
