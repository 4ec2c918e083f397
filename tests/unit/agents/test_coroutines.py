"""Async tools on an event loop of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from nonoka.agents.context import ToolContext
from nonoka.agents.coroutines import ToolLoops
from nonoka.agents.invocation import Invocation
from nonoka.agents.raised import ToolRaised
from nonoka.agents.tool import Tool, tool

CONTEXT = ToolContext(session_id="s", tool_call_id="call_1_0", idempotency_key="s:1:0")


@pytest.fixture
def loops() -> Iterator[ToolLoops]:
    loops = ToolLoops()
    yield loops
    loops.close()


def run(made: Tool, loops: ToolLoops, **options: Any) -> Invocation:
    return made.invoke(CONTEXT, {}, loops=loops, **options)


async def test_async_tools_share_one_loop_that_is_not_the_callers(loops: ToolLoops) -> None:
    @tool
    async def where() -> int:
        return id(asyncio.get_running_loop())

    @tool
    def around() -> Any:
        return where.function()

    found = {await run(where, loops), await run(where, loops), await run(around, loops)}
    assert len(found) == 1
    assert found != {id(asyncio.get_running_loop())}


async def test_a_tool_that_blocks_its_loop_stops_neither_the_caller_nor_those_that_come_later(
    loops: ToolLoops,
) -> None:
    release, blocks = threading.Event(), threading.Event()

    @tool
    async def block() -> str:
        blocks.set()
        release.wait(20)
        return "blocked"

    @tool
    async def wait() -> None:
        await asyncio.sleep(60)

    @tool
    async def other() -> str:
        return "other"

    waiting = run(wait, loops)
    await waiting.begin()
    first = run(block, loops)
    await first.begin()
    assert await asyncio.to_thread(blocks.wait, 20)
    assert await run(other, loops) == "other"
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(waiting, 0.01)
    # It is alive, but only because the other one blocks.
    assert (waiting.alive, waiting.to_blame, first.to_blame) == (True, False, True)
    release.set()
    assert await first == "blocked"
    assert await waiting.ended(20)
    assert not waiting.alive


async def test_a_cancel_reaches_the_coroutine_and_is_waited_for(loops: ToolLoops) -> None:
    cleaned = threading.Event()

    @tool
    async def careful() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.set()

    call = run(careful, loops)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call, 0.05)
    assert await call.ended(20)
    assert cleaned.is_set()


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()])
async def test_what_would_end_a_loop_arrives_as_an_exception(loops: ToolLoops, error: BaseException) -> None:
    @tool
    async def fail() -> None:
        raise error

    for options in ({}, {"finish": str}):
        with pytest.raises(ToolRaised) as caught:
            await run(fail, loops, **options)
        assert caught.value.error is error


async def test_deps_are_made_and_results_finished_where_the_tool_runs(loops: ToolLoops) -> None:
    threads: list[int] = []

    @tool
    def sync(context: ToolContext) -> object:
        threads.append(threading.get_ident())
        return context.deps

    @tool
    async def not_sync(context: ToolContext) -> object:
        threads.append(threading.get_ident())
        return context.deps

    def deps() -> str:
        threads.append(threading.get_ident())
        return "deps"

    def finish(value: object) -> str:
        threads.append(threading.get_ident())
        return f"{value}, finished"

    for each in (sync, not_sync):
        threads.clear()
        assert await run(each, loops, deps=deps, finish=finish) == "deps, finished"
        assert len(set(threads)) == 1
        assert threading.get_ident() not in threads
