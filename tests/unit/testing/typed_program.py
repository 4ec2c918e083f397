"""A user's program as a type checker sees it; test_types.py has it checked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, assert_type

from nonoka import Agent, Effect, Runner, RunResult, RuntimeLimits, ToolContext, tool
from nonoka.records.event import Event
from nonoka.records.runtime import RuntimeUsage, Termination
from nonoka.records.session import SessionState, SessionStatus
from nonoka.testing import ManualClock, Response, ScriptedModel, asks, crashing_runner, points_of, runner


@tool
def plain(invoice: str, cents: int = 0) -> list[str]:
    """Decorated without arguments."""
    return [invoice] * cents


@tool(effect="idempotent", timeout_s=5)
async def awaited(ctx: ToolContext, invoice: str) -> bool:
    """Decorated with arguments, and async."""
    return ctx.attempt > 1 and bool(invoice)


@tool(effect=Effect.READ_ONLY, on_uncertain="tell")
def bare() -> None:
    """Takes nothing and returns nothing."""


async def a_tool_is_called_as_it_was_written(ctx: ToolContext) -> None:
    assert_type(plain("A-17", cents=2), list[str])
    await assert_type(awaited(ctx, "A-17"), Coroutine[Any, Any, bool])
    assert_type(plain.name, str)
    plain(17)  # type: ignore[arg-type]
    plain()  # type: ignore[call-arg]


agent = Agent(
    "clerk", "You pay.", tools=[plain, awaited, bare, len], limits=RuntimeLimits(max_tool_calls=3), deps=dict
)


async def what_a_runner_gives(directory: Path) -> None:
    async with Runner(cwd=directory, db="x.db", agents=[agent], max_wall_s=None) as here:
        assert_type(here, Runner)
        result = await here.run_react(agent, "Pay", max_model_turns=3)
        assert_type(result, RunResult)
        assert_type(result.session_id, str)
        assert_type(result.status, SessionStatus)
        assert_type(result.data, str | None)
        assert_type(result.error, Termination | None)
        assert_type(result.usage, RuntimeUsage)
        assert_type(result.usage.total_tokens, int)
        assert_type(await here.resume(result.session_id), RunResult)
        assert_type(await here.enqueue("a:b", "Pay", key="k"), str)
        assert_type(await here.get_state(result.session_id), SessionState)
        assert_type(here.follow(result.session_id), AsyncIterator[Event])
        assert_type([line.status for line in await here.list_sessions()], list[str])
        await here.run_react(agent, "Pay", max_turns=3)  # type: ignore[call-arg]
        await here.run_react(agent, "Pay", max_tool_calls="3")  # type: ignore[arg-type]
        await here.enqueue(agent, "Pay")  # type: ignore[arg-type]
    Runner(modle="openai:x")  # type: ignore[call-arg]


async def what_testing_gives(directory: Path) -> None:
    clock = ManualClock()
    error: Response = {"error": {"status": 503, "times": 1}}
    model = ScriptedModel([asks("plain", invoice="A-17"), error, "Paid."])
    async with crashing_runner(directory, model, at="before call_finished", clock=clock) as dying:
        assert_type(await dying.run_react(agent, "Pay"), RunResult)
    async with runner(directory, agents=[agent], clock=clock) as living:
        assert_type(await clock.passing(living.resume("id")), RunResult)
    assert_type([str(point) for point in await points_of(agent, "Pay", model)], list[str])
    ScriptedModel([{"txt": "Paid."}])  # type: ignore[list-item]
