"""A process that dies where a test says, and what the next one finds."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nonoka import Agent, RunResult, ToolContext, tool
from nonoka.errors import UsageError
from nonoka.records.session import SessionStatus
from nonoka.records.task import Liveness
from nonoka.runner import Runner
from nonoka.testing import (
    Died,
    ManualClock,
    MemoryStore,
    Point,
    ScriptedModel,
    asks,
    crashing_runner,
    points_of,
    runner,
)

Runs = list[tuple[str, int]]


def payer(runs: Runs) -> Agent:
    @tool
    def pay(ctx: ToolContext, invoice: str) -> str:
        """Pay an invoice."""
        runs.append((ctx.idempotency_key, ctx.attempt))
        return f"paid {invoice}"

    return Agent("payer", tools=[pay])


def script() -> ScriptedModel:
    return ScriptedModel([asks("pay", invoice="7"), "Paid."])


async def taken_up(directory: Path, agent: Agent, model: ScriptedModel | None = None) -> RunResult:
    async with runner(directory, model, agents=[agent]) as living:
        [line] = await living.list_sessions()
        return await living.resume(line.index.session_id)


async def test_a_call_whose_result_was_lost_runs_again_under_its_key(tmp_path: Path) -> None:
    """The process dies after the tool ran and before its result was committed."""
    runs: Runs = []
    agent, model = payer(runs), script()
    async with crashing_runner(tmp_path, model, at="before call_finished") as dying:
        await dying.run_react(agent, "Pay invoice 7")
        pytest.fail("the process lives")
    assert [attempt for _, attempt in runs] == [1]
    result = await taken_up(tmp_path, agent, model)
    assert (result.status, result.data) == (SessionStatus.COMPLETED, "Paid.")
    assert [attempt for _, attempt in runs] == [1, 2]
    assert len({key for key, _ in runs}) == 1
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    ("at", "attempts", "asked"),
    [
        ("after session_created", [1], 2),
        ("before model.respond", [1], 2),
        ("after model.respond", [1], 3),
        ("after call_started", [2], 2),
        ("after call_finished", [1], 2),
        ("before store.commit 2", [1, 2], 2),
        ("inside store.commit 2", [1, 2], 2),
        ("after model.respond 2", [1], 3),
        ("after session_completed", [1], 2),
    ],
)
async def test_what_is_done_again_depends_on_where_it_died(
    tmp_path: Path, at: str, attempts: list[int], asked: int
) -> None:
    """``attempts`` of the call that had an effect, and how often a model was asked in all."""
    runs: Runs = []
    agent, model = payer(runs), script()
    async with crashing_runner(tmp_path, model, at=at) as dying:
        await dying.run_react(agent, "Pay invoice 7")
    assert (await taken_up(tmp_path, agent, model)).data == "Paid."
    assert [attempt for _, attempt in runs] == attempts
    assert len(model.requests) == asked


async def test_a_session_survives_a_death_at_each_of_its_points(tmp_path: Path) -> None:
    runs: Runs = []
    agent = payer(runs)
    points = await points_of(agent, "Pay invoice 7", script())
    assert Point("before", "call_finished") in points
    assert Point("after", "session_completed") in points
    for number, point in enumerate(points):
        runs.clear()
        async with crashing_runner(tmp_path / str(number), script(), at=point) as dying:
            await dying.run_react(agent, "Pay invoice 7")
        assert (await taken_up(tmp_path / str(number), agent)).data == "Paid.", point
        assert len({key for key, _ in runs}) == 1, point


async def test_who_recovers_may_die_as_well(tmp_path: Path) -> None:
    runs: Runs = []
    agent = payer(runs)
    async with crashing_runner(tmp_path, script(), at="before call_finished") as dying:
        await dying.run_react(agent, "Pay invoice 7")
    for at in ("before turn_released", "before call_finished"):
        async with crashing_runner(tmp_path, at=at, agents=[agent]) as dying:
            [line] = await dying.list_sessions()
            await dying.resume(line.index.session_id)
    assert (await taken_up(tmp_path, agent)).data == "Paid."
    assert [attempt for _, attempt in runs] == [1, 2, 3]


async def test_a_dead_process_hands_nothing_back_and_reads_as_dead(tmp_path: Path) -> None:
    """Its claim, its worker's row and its lock file are as a killed process leaves them."""
    agent = payer([])
    async with crashing_runner(tmp_path, script(), at="after call_started") as dying:
        await dying.run_react(agent, "Pay invoice 7")
    assert len(list((tmp_path / ".nonoka" / "workers").iterdir())) == 1
    async with runner(tmp_path) as living:
        [lost] = await living.ports.store.running_claims()
        assert lost.owner is not None
        assert living.ports.processes.liveness(lost.owner) is Liveness.DEAD


async def test_a_memory_store_outlives_its_process_too(tmp_path: Path) -> None:
    runs: Runs = []
    agent, clock = payer(runs), ManualClock()
    store = MemoryStore(clock)
    async with crashing_runner(tmp_path, script(), at="before call_finished", clock=clock, store=store) as dying:
        await dying.run_react(agent, "Pay invoice 7")
    async with runner(tmp_path, agents=[agent], clock=clock, store=store) as living:
        [line] = await living.list_sessions()
        result = await clock.passing(living.resume(line.index.session_id))
    assert result.data == "Paid."
    assert [attempt for _, attempt in runs] == [1, 2]
    assert not (tmp_path / ".nonoka" / "sessions.db").exists()


async def test_a_point_that_is_never_reached_fails_the_test(tmp_path: Path) -> None:
    """The message names what was passed instead."""
    with pytest.raises(AssertionError, match=r"'after call_started 1' and never .*model_answered 1"):
        async with crashing_runner(tmp_path, ScriptedModel(["Hello."]), at="after call_started") as alive:
            await alive.run_react(Agent("brief"), "Hello")


async def test_what_fails_in_the_block_is_not_taken_for_a_death(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with crashing_runner(tmp_path, at="after call_started"):
            raise ZeroDivisionError


async def test_a_death_in_a_task_group_ends_the_block_as_well(tmp_path: Path) -> None:
    seen: list[type[BaseException]] = []

    async def run(dying: Runner) -> None:
        try:
            await dying.run_react(payer([]), "Pay invoice 7")
        except BaseException as error:
            seen.append(type(error))
            raise

    async with (
        crashing_runner(tmp_path, script(), at="after call_started") as dying,
        asyncio.TaskGroup() as group,
    ):
        group.create_task(run(dying))
    assert seen == [Died]


@pytest.mark.parametrize(
    "text", ["", "after", "after call_begun", "during call_started", "after call_started 0", "after clock.now_ms"]
)
async def test_a_point_that_can_not_be_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="point"):
        async with crashing_runner(tmp_path, at=text):
            pytest.fail("it was taken")


def test_a_point_is_read_as_it_is_written() -> None:
    for text in ("after call_started 1", "before store.commit 12", "inside store.claim 1"):
        assert str(Point.parsed(text)) == text
    assert Point.parsed("after call_started") == Point("after", "call_started", 1)
