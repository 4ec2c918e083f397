"""An agent whose tools don't end, or leave something behind; each tells the oracle that it runs.

Workers load it as FILE.py:agent and find the oracle's directory in ``CRASH_ORACLE``.
"""

from __future__ import annotations

import asyncio
import ctypes
import multiprocessing
import os
import shlex
import socket
import sys
import textwrap
import threading
import time
from pathlib import Path

from nonoka import Agent, ToolContext, tool
from tests.support.oracle import Oracle

#: Until then a tool here goes on, whatever happens: longer than any test.
EVER_S = 600.0
PORT_FILE = "port"
#: Leaves a server behind in a session of its own, twice forked, and says where it listens.
DAEMON = textwrap.dedent(
    """
    import os, socket, sys, time
    if os.fork():
        sys.exit()
    os.setsid()
    if os.fork():
        os._exit(0)
    listening = socket.create_server(("127.0.0.1", 0))
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(str(listening.getsockname()[1]))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    time.sleep(600)
    """
)


@tool(timeout_s=1)
def hang_in_a_thread(ctx: ToolContext) -> str:
    """Never return."""
    ctx.deps.tell_ran(ctx)
    threading.Event().wait(EVER_S)
    return "late"


@tool(timeout_s=1)
async def hang_in_a_coroutine(ctx: ToolContext) -> str:
    """Never return, and heed no cancel."""
    ctx.deps.tell_ran(ctx)
    end = asyncio.get_running_loop().time() + EVER_S
    while asyncio.get_running_loop().time() < end:
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            continue
    return "late"


@tool(timeout_s=1)
async def block_the_loop(ctx: ToolContext) -> str:
    """Never return, and let nobody else run."""
    ctx.deps.tell_ran(ctx)
    time.sleep(EVER_S)  # noqa: ASYNC251  that is its fault
    return "late"


@tool
def hang_long_in_a_thread(ctx: ToolContext) -> str:
    """Never return, in a time that is not over in any test."""
    ctx.deps.tell_ran(ctx)
    threading.Event().wait(EVER_S)
    return "late"


@tool
async def block_the_loop_long(ctx: ToolContext) -> str:
    """Never return, and let nobody else run, in a time that is not over in any test."""
    ctx.deps.tell_ran(ctx)
    time.sleep(EVER_S)  # noqa: ASYNC251  that is its fault
    return "late"


@tool(timeout_s=1)
async def hang_in_a_command(ctx: ToolContext) -> str:
    """Run a command that does not end."""
    ctx.deps.tell_ran(ctx)
    await ctx.run("trap '' TERM; sleep 600", timeout_s=EVER_S)
    return "late"


@tool(on_uncertain="tell")
def hold_the_interpreter(ctx: ToolContext) -> str:
    """Let no other thread of the process run."""
    ctx.deps.tell_ran(ctx)
    return str((3**10_000_000) ** 1_000 > 0)


@tool(effect="read_only")
def look(ctx: ToolContext) -> str:
    """Look around."""
    ctx.deps.tell_ran(ctx)
    return "nothing"


@tool(effect="read_only")
async def look_async(ctx: ToolContext) -> str:
    """Look around, on the loop."""
    ctx.deps.tell_ran(ctx)
    await asyncio.sleep(0.01)
    return "nothing"


@tool
async def tell_secrecy(ctx: ToolContext) -> list[object]:
    """Whether others may read this process (prctl(PR_GET_DUMPABLE)), and a command of it."""
    ctx.deps.tell_ran(ctx)
    asked = "import ctypes; print(ctypes.CDLL(None).prctl(3))"
    command = await ctx.run(f"{sys.executable} -c {shlex.quote(asked)}", timeout_s=60)
    return [ctypes.CDLL(None).prctl(3), command.output.decode().strip()]


@tool
def fork(ctx: ToolContext) -> str:
    """Fork, and let both return."""
    ctx.deps.tell_ran(ctx)
    child = os.fork()
    return "the child" if child == 0 else f"the parent of {child}"


@tool
async def fork_async(ctx: ToolContext) -> str:
    """Fork on the loop, and let both go on."""
    ctx.deps.tell_ran(ctx)
    child = os.fork()
    await asyncio.sleep(0)
    return "the child" if child == 0 else f"the parent of {child}"


@tool
def multiprocess(ctx: ToolContext) -> str:
    """Compute in forked processes."""
    ctx.deps.tell_ran(ctx)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return str(pool.map(abs, [-1, -2]))


@tool(effect="workspace")
async def leave_a_daemon(ctx: ToolContext) -> str:
    """Leave a server behind."""
    ctx.deps.tell_ran(ctx)
    port = Path(os.environ["CRASH_ORACLE"]) / PORT_FILE
    daemon = f"{sys.executable} -c {shlex.quote(DAEMON)} {port}"
    ended = await ctx.run(f"{daemon}; while ! test -e {port}; do sleep 0.02; done; cat {port}", timeout_s=60)
    return ended.output.decode()


def listens(port: int) -> bool:
    """Whether anything takes connections there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


agent = Agent(
    "hanging",
    "You never end.",
    tools=[
        hang_in_a_thread,
        hang_in_a_coroutine,
        block_the_loop,
        hang_long_in_a_thread,
        block_the_loop_long,
        hang_in_a_command,
        hold_the_interpreter,
        look,
        look_async,
        tell_secrecy,
        fork,
        fork_async,
        multiprocess,
        leave_a_daemon,
    ],
    deps=lambda: Oracle(Path(os.environ["CRASH_ORACLE"])),
)
