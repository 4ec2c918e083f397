"""A tool with a probe, whose process died before its result was kept: the probe finds out what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from nonoka import Agent, Happened, Runner, RunResult, ToolContext, tool
from nonoka.records.event import Event
from nonoka.records.session import SessionState
from nonoka.testing import ScriptedModel, asks, crashing_runner, runner

Answers = Callable[[], Happened | None]


class Bank:
    """Remembers in which attempts it was paid and asked; what it answers is the test's."""

    def __init__(self, answers: Answers) -> None:
        self.paid: list[int] = []
        self.asked: list[tuple[int, str, int]] = []

        def was_paid(ctx: ToolContext, cents: int) -> Happened | None:
            self.asked.append((ctx.attempt, ctx.idempotency_key, cents))
            return answers()

        @tool(probe=was_paid)
        def pay(ctx: ToolContext, cents: int, note: str = "") -> str:
            """Pay somebody."""
            self.paid.append(ctx.attempt)
            return f"paid {cents} in attempt {ctx.attempt}"

        self.agent = Agent("clerk", tools=[pay])


async def cut_off(directory: Path, bank: Bank, at: str = "before call_finished") -> None:
    """A session whose process died after it had paid, before anybody knew."""
    model = ScriptedModel([asks("pay", cents=500, note="rent"), "Done."])
    async with crashing_runner(directory, model, at=at) as dying:
        await dying.run_react(bank.agent, "Pay the rent")


async def taken_up(directory: Path, bank: Bank) -> tuple[RunResult, SessionState, list[Event]]:
    """How the session ends, with all of it."""
    async with runner(directory, agents=[bank.agent]) as living:
        session_id = await only_session(living)
        result = await living.resume(session_id)
        events = [event async for event in living.follow(session_id)]
        return result, await living.get_state(session_id), events


async def only_session(living: Runner) -> str:
    [line] = await living.list_sessions()
    return line.index.session_id


def result_of(state: SessionState) -> tuple[str, object]:
    """What the model was told of the one call, and whether as a success."""
    [entry] = [entry for entry in state.memory_entries if entry.role == "tool"]
    return entry.content, entry.metadata["ok"]


def outcomes(events: list[Event]) -> list[object]:
    return [event.data["outcome"] for event in events if event.type == "call_settled"]


async def test_what_happened_is_the_result_and_does_not_happen_again(tmp_path: Path) -> None:
    """The probe is asked with the call's own arguments, under its key."""
    bank = Bank(lambda: Happened({"receipt": 17}))
    await cut_off(tmp_path, bank)
    result, state, events = await taken_up(tmp_path, bank)
    assert (result.status, result.data) == ("completed", "Done.")
    assert result_of(state) == ('{"receipt": 17}', True)
    assert bank.paid == [1]
    assert bank.asked == [(2, f"{result.session_id}:1:0", 500)]
    assert outcomes(events) == ["probe"]


async def test_what_did_not_happen_runs_again_as_the_next_attempt(tmp_path: Path) -> None:
    bank = Bank(lambda: None)
    await cut_off(tmp_path, bank)
    result, state, _ = await taken_up(tmp_path, bank)
    assert result.status == "completed"
    assert result_of(state) == ("paid 500 in attempt 2", True)
    assert (bank.paid, len(bank.asked)) == ([1, 2], 1)


@pytest.mark.parametrize("kind", ["raises", "nonsense"])
async def test_a_probe_that_cannot_tell_leaves_the_outcome_unknown(tmp_path: Path, kind: str) -> None:
    """It raises, or returns what is no answer: the model is told so, and nothing runs again."""

    def answers() -> Happened | None:
        if kind == "raises":
            raise ConnectionError("the bank is closed")
        return True  # type: ignore[return-value]  # what the test is about

    bank = Bank(answers)
    await cut_off(tmp_path, bank)
    result, state, _ = await taken_up(tmp_path, bank)
    told, ok = result_of(state)
    assert (result.status, bank.paid, ok) == ("completed", [1], False)
    assert "whether it took effect is unknown, and its probe failed" in told
    assert ("the bank is closed" if kind == "raises" else "not bool") in told


async def test_a_process_that_dies_while_it_probes_leaves_the_probing_to_the_next(tmp_path: Path) -> None:
    """Not having run, the second attempt is no reason to pay again."""
    bank = Bank(lambda: Happened("paid before"))
    await cut_off(tmp_path, bank)
    async with crashing_runner(tmp_path, agents=[bank.agent], at="before call_finished") as dying:
        await dying.resume(await only_session(dying))
    result, state, events = await taken_up(tmp_path, bank)
    assert result.status == "completed"
    assert result_of(state) == ("paid before", True)
    assert (bank.paid, [attempt for attempt, _, _ in bank.asked]) == ([1], [2, 3])
    assert outcomes(events) == ["probe", "probe"]


async def test_a_call_that_never_began_is_not_probed(tmp_path: Path) -> None:
    """Of two that were asked for, the process died in the first."""
    bank = Bank(lambda: Happened("paid before"))
    both = ScriptedModel([{"tool_calls": asks("pay", cents=1)["tool_calls"] * 2}, "Done."])
    async with crashing_runner(tmp_path, both, at="before call_finished") as dying:
        await dying.run_react(bank.agent, "Pay twice")
    _, state, _ = await taken_up(tmp_path, bank)
    told = [entry.content for entry in state.memory_entries if entry.role == "tool"]
    assert told == ["paid before", "paid 1 in attempt 1"]
    assert len(bank.asked) == 1


async def test_a_probe_has_its_time_like_any_call(tmp_path: Path) -> None:
    """It is an async one that never answers."""
    asked = asyncio.Event()

    async def never(ctx: ToolContext) -> Happened | None:
        asked.set()
        return await asyncio.get_running_loop().create_future()

    paid: list[int] = []

    @tool(probe=never, timeout_s=0.2)
    def pay(ctx: ToolContext) -> str:
        """Pay somebody."""
        paid.append(ctx.attempt)
        return "paid"

    agent = Agent("clerk", tools=[pay])
    async with crashing_runner(
        tmp_path, ScriptedModel([asks("pay"), "Done."]), at="before call_finished"
    ) as dying:
        await dying.run_react(agent, "Pay")
    async with runner(tmp_path, agents=[agent]) as living:
        assert (await living.resume(await only_session(living))).status == "completed"
    assert asked.is_set()
    assert paid == [1]
