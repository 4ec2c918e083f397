"""How a tool's function runs: async on the loop, sync in a thread that can't take anything down."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
from typing import Any

import pytest

from nonoka.agents.context import ToolContext
from nonoka.agents.raised import ToolRaised, failed_call
from nonoka.agents.threads import ThreadCall
from nonoka.agents.tool import tool
from nonoka.errors import ToolFailure
from nonoka.ports.processes import CommandResult

CONTEXT = ToolContext(session_id="s", tool_call_id="call_1_0", idempotency_key="s:1:0")
marked: contextvars.ContextVar[str] = contextvars.ContextVar("marked", default="")


async def test_a_sync_function_runs_in_a_daemon_thread_with_the_callers_variables() -> None:
    @tool
    def where() -> tuple[bool, bool, str]:
        thread = threading.current_thread()
        return thread is threading.main_thread(), thread.daemon, marked.get()

    marked.set("seen")
    assert await where.invoke(CONTEXT, {}) == (False, True, "seen")


async def test_an_async_function_runs_on_the_loop() -> None:
    @tool
    async def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert await where.invoke(CONTEXT, {}) is True


async def test_a_plain_function_around_an_async_one_is_awaited() -> None:
    async def inner() -> int:
        return 5

    @tool
    def outer() -> Any:
        return inner()

    assert await outer.invoke(CONTEXT, {}) == 5


@pytest.mark.parametrize(
    "error",
    [
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        asyncio.CancelledError(),
        StopIteration(),
        BaseException(),
    ],
)
async def test_what_a_thread_raises_arrives_as_an_exception_that_ends_nothing(error: BaseException) -> None:
    @tool
    def fail() -> None:
        raise error

    # in a task of its own: that is where SystemExit would end the loop
    async def run() -> object:
        return await fail.invoke(CONTEXT, {})

    with pytest.raises(ToolRaised) as caught:
        await asyncio.create_task(run())
    assert caught.value.error is error


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_what_an_async_tool_raises_arrives_as_an_exception_that_ends_nothing(error: BaseException) -> None:
    @tool
    async def fail() -> None:
        raise error

    async def run() -> object:
        return await fail.invoke(CONTEXT, {})

    with pytest.raises(ToolRaised) as caught:
        await asyncio.create_task(run())
    assert caught.value.error is error


async def test_an_ordinary_exception_arrives_as_it_is() -> None:
    @tool
    def fail() -> None:
        raise KeyError("k")

    with pytest.raises(KeyError):
        await fail.invoke(CONTEXT, {})


async def test_a_real_cancel_stays_a_cancel_for_both_kinds() -> None:
    release = threading.Event()
    begun = threading.Event()

    @tool
    def sync() -> None:
        begun.set()
        release.wait(20)

    @tool
    async def not_sync() -> None:
        begun.set()
        await asyncio.Event().wait()

    for each in (sync, not_sync):
        begun.clear()

        async def run(made: Any = each) -> object:
            return await made.invoke(CONTEXT, {})

        task = asyncio.create_task(run())
        assert await asyncio.to_thread(begun.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    release.set()


async def test_a_cancelled_call_says_whether_its_thread_still_lives() -> None:
    release = threading.Event()

    @tool
    def stuck() -> str:
        release.wait(20)
        return "late"

    call = stuck.invoke(CONTEXT, {})
    assert not call.alive
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call, 0.01)
    assert call.alive
    assert not await call.ended(0.01)
    release.set()
    assert await call.ended(20)
    assert not call.alive


async def test_stuck_threads_do_not_keep_others_from_running() -> None:
    release = threading.Event()
    stuck = [ThreadCall(lambda: release.wait(20), "stuck") for _ in range(50)]
    assert await ThreadCall(lambda: 1, "free") == 1
    release.set()
    assert all([await call.ended(20) for call in stuck])


def test_a_stuck_tool_does_not_keep_the_process_alive() -> None:
    code = (
        "import asyncio, threading\n"
        "from nonoka.agents.threads import ThreadCall\n"
        "async def main():\n"
        "    try: await asyncio.wait_for(ThreadCall(threading.Event().wait, 'x'), 0.05)\n"
        "    except TimeoutError: print('left')\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")


def test_a_thread_that_outlives_its_loop_ends_quietly() -> None:
    release = threading.Event()
    calls: list[ThreadCall] = []

    async def start() -> None:
        calls.append(ThreadCall(lambda: release.wait(20), "late"))

    asyncio.run(start())
    release.set()
    thread = next((t for t in threading.enumerate() if t.name == "late"), None)
    if thread is not None:
        thread.join(20)
    assert not calls[0].alive


class _Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (ValueError(), "ValueError"),
        (ToolFailure("no such file"), "no such file"),
        (ToolRaised(SystemExit(3)), "SystemExit: 3"),
        (ToolRaised(KeyboardInterrupt()), "KeyboardInterrupt"),
        (_Unspeakable(), "_Unspeakable: <_Unspeakable: str() raised RuntimeError>"),
        (ValueError("\ud83d\0"), "ValueError: \ufffd\ufffd"),
    ],
)
def test_a_failed_call_says_type_and_message(error: BaseException, text: str) -> None:
    result = failed_call(error)
    assert (result.content, result.error_type) == (text, "tool_failed")


def test_a_failed_call_keeps_the_traceback_for_its_author() -> None:
    def raises() -> None:
        raise ValueError("x" * 100_000)

    try:
        raises()
    except ValueError as error:
        result = failed_call(error)
    assert "in raises" in result.traceback
    assert len(result.traceback.encode()) <= 8_192
    assert len(result.content.encode()) <= 8_192


async def test_a_command_runs_only_where_the_engine_lets_it() -> None:
    async def spawn(command: str, timeout_s: float) -> CommandResult:
        return CommandResult(exit_code=0, output=f"{command} {timeout_s}".encode())

    allowed = ToolContext(session_id="s", tool_call_id="c", idempotency_key="k", spawn=spawn)
    assert (await allowed.run("ls", timeout_s=3)).output == b"ls 3"
    with pytest.raises(ToolFailure, match="can't run commands"):
        await CONTEXT.run("ls", timeout_s=3)
    with pytest.raises(ToolFailure, match="no workspace"):
        _ = CONTEXT.files
