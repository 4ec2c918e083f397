"""The agent of the crash tests: a tool of each effect, each of which tells the oracle that it runs.

Workers load it as FILE.py:agent and find the oracle's directory in ``CRASH_ORACLE``.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

from nonoka import Agent, ToolContext, tool
from nonoka.adapters.processes import procfs
from tests.support.oracle import Oracle

#: What the model says in the session of the crash tests: reads side by side, writes, a command that leaves a
#: process behind, a payment, calls that can't run, a result too large to be kept whole.
TURNS = [
    {
        "text": "First I look around, then I write down what I saw.",
        "tool_calls": [
            {"name": "look", "args": {"place": "hall"}},
            {"name": "look", "args": {"place": "attic", "size": 2000}},
            {"name": "write", "args": {"path": "notes.txt", "text": "a hall, an attic"}},
        ],
    },
    {
        "tool_calls": [
            {"name": "build", "args": {"target": "app"}},
            {"name": "pay", "args": {"amount": 5}},
            {"name": "fly", "args": {}},
            {"name": "look", "args": '{"place": '},
        ],
    },
    {"tool_calls": [{"name": "post", "args": {"text": "built"}}, {"name": "look", "args": {"place": "hall"}}]},
    {"text": "All done."},
]
#: How a worker that dies here holds its call open: until this file is there.
GATE = "gate"


@tool(effect="read_only")
def look(ctx: ToolContext, place: str, size: int = 0) -> str:
    """Look at a place."""
    ctx.deps.tell_ran(ctx)
    return f"the {place} is empty" + "." * size


@tool(effect="workspace")
def write(ctx: ToolContext, path: str, text: str) -> str:
    """Write a file."""
    ctx.deps.tell_ran(ctx)
    ctx.files.write_text(path, text)
    return f"wrote {path}"


@tool(effect="workspace")
async def build(ctx: ToolContext, target: str) -> str:
    """Build something; the command adds a line to a file, and leaves a process in the background."""
    ctx.deps.tell_ran(ctx, left_over=_alive(ctx.idempotency_key))
    command = f"echo {target} >> built.log; sleep 300 & sleep 0.02; echo built {target}"
    result = await ctx.run(command, timeout_s=30)
    return f"exit {result.exit_code}: {result.output.decode().strip()}"


@tool(effect="external")
async def pay(ctx: ToolContext, amount: int) -> str:
    """Pay somebody."""
    ctx.deps.tell_ran(ctx)
    return f"paid {amount}"


@tool(effect="idempotent")
async def post(ctx: ToolContext, text: str) -> str:
    """Post a message."""
    ctx.deps.tell_ran(ctx)
    return f"posted {text}"


@tool(effect="idempotent")
async def stumble(ctx: ToolContext, text: str) -> str:
    """Fail at the first attempt."""
    ctx.deps.tell_ran(ctx)
    if ctx.attempt == 1:
        raise ConnectionError("not yet")
    return f"said {text}"


@tool(effect="external")
def hold(ctx: ToolContext) -> str:
    """Work until the gate is open."""
    ctx.deps.tell_ran(ctx)
    gate = Path(os.environ["CRASH_ORACLE"]) / GATE
    opened = threading.Event()
    while not gate.exists():
        opened.wait(0.01)
    return "held"


@tool(effect="external")
def explode(ctx: ToolContext) -> str:
    """Take the whole process down."""
    ctx.deps.tell_ran(ctx)
    os.kill(os.getpid(), signal.SIGKILL)
    return "never said"


def crash_agent(oracle: Callable[[], Oracle]) -> Agent:
    """The agent, telling this oracle."""
    return Agent(
        "crash",
        "You are killed all the time.",
        tools=[look, write, build, pay, post, stumble, hold, explode],
        deps=oracle,
        max_tool_result_bytes=1024,
    )


def write_script(path: Path, turns: list[dict[str, object]]) -> str:
    """The model's name for a script of these responses, written there."""
    # Renamed into place: a worker may be reading it.
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(json.dumps(turns))
    temporary.replace(path)
    return f"script:{path}"


def _alive(key: str) -> int:
    return sum(one.living and procfs.carries_prefix(one.pid, f"{key}#") for one in procfs.processes())


agent = crash_agent(lambda: Oracle(Path(os.environ["CRASH_ORACLE"])))
