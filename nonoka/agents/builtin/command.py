"""The built-in tool that runs a command."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nonoka.agents.context import ToolContext
from nonoka.agents.tool import TOOL_TIMEOUT_S, tool


@tool(effect="workspace", timeout_argument="timeout_s")
async def run_command(
    context: ToolContext, command: str, timeout_s: Annotated[float, Field(ge=1, le=3600)] = TOOL_TIMEOUT_S
) -> dict[str, object]:
    """Run a shell command in the workspace and wait until it ends.

    The result holds its exit_code and its output (stdout and stderr together). There is no terminal and
    nothing to type into; what the command leaves running is ended with it.

    Args:
        command: The command line, for bash (sh where there is no bash).
        timeout_s: Seconds it may take; it is ended then, and exit_code is null.
    """
    ended = await context.run(command, timeout_s=timeout_s)
    notes = []
    if ended.exit_code is None:
        notes.append(f"ended after {timeout_s:g} s, its time; the output is what it wrote until then")
    if ended.dropped_bytes:
        notes.append(f"{ended.dropped_bytes} bytes from the middle of the output were not kept")
    # the output comes last: if the result is cut, it is there
    return {
        "exit_code": ended.exit_code,
        **({"note": "; ".join(notes)} if notes else {}),
        "output": ended.output.decode(errors="replace"),
    }
