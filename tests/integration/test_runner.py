"""The Runner: sessions from a program, worked on in its own process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from nonoka import Agent, NonokaError, Runner, RunResult, RuntimeLimits, ToolContext, tool
from nonoka.agents.registry import Registry
from nonoka.app import open_ports
from nonoka.engine.ports import Ports
from nonoka.errors import AgentUnloadable, UnknownSession, UsageError
from nonoka.ports.store import Store
from nonoka.records.event import EventType
from nonoka.records.session import SessionState, SessionStatus
from nonoka.runner import LimitOptions
from nonoka.settings import Settings
from nonoka.testing import asks

AGENT_FILE = """\
from nonoka import Agent
agent = Agent("filed", "Be brief.")
"""


class Door:
    """A tool that waits until it is opened, and remembers who came in."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.entered = asyncio.Event()
        self.attempts: list[int] = []

        @tool(effect="external")
        async def knock(ctx: ToolContext) -> str:
            """Wait for the door."""
            self.attempts.append(ctx.attempt)
            self.entered.set()
            await self.open.wait()
            return "come in"

        self.agent = Agent("guest", tools=[knock])


Make = Callable[..., Runner]


@pytest.fixture
async def door() -> Door:
    return Door()


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes Runners over one store; their model knocks once and is done, then answers every prompt."""
    monkeypatch.chdir(tmp_path)
    for name in ("NONOKA_MODEL", "NONOKA_AGENT", "NONOKA_DB", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    script = tmp_path / "script.json"
    script.write_text(json.dumps([asks("knock"), {"text": "Done."}, {"text": "Again."}]))
    (tmp_path / "filed.py").write_text(AGENT_FILE)

    def made(**options: Any) -> Runner:
        return Runner(**{"db": tmp_path / "sessions.db", "model": f"script:{script}", **options})

    return made


async def test_a_run_brings_answer_status_and_usage(make: Make, door: Door) -> None:
    door.open.set()
    async with make() as runner:
        result = await runner.run_react(door.agent, "Go in")
        assert (result.status, result.data, result.error) == (SessionStatus.COMPLETED, "Done.", None)
        assert (result.usage.model_turns, result.usage.tool_calls) == (2, 1)
        assert await runner.result(result.session_id) == result
        [line] = await runner.list_sessions()
        assert (line.index.session_id, line.status) == (result.session_id, "completed")


async def test_a_failed_run_says_why(make: Make, door: Door) -> None:
    async with make() as runner:
        result = await runner.run_react(Agent("poor"), "Go in", max_model_turns=1)
    assert (result.status, result.data) == (SessionStatus.FAILED, None)
    assert result.error is not None
    assert result.error.error_type == "limit_reached"


async def test_many_sessions_run_at_once_in_one_runner(make: Make, door: Door) -> None:
    """All of them are inside their call at one time, and each has its own answer."""

    async def all_inside() -> None:
        while len(door.attempts) < 8:
            door.entered.clear()
            await door.entered.wait()
        door.open.set()

    async with make() as runner:
        *results, _ = await asyncio.gather(
            *[runner.run_react(door.agent, f"Guest {number}") for number in range(8)], all_inside()
        )
        assert [result.data for result in results if result is not None] == ["Done."] * 8
        assert len({result.session_id for result in results if result is not None}) == 8
    assert door.attempts == [1] * 8


async def test_leaving_with_work_in_flight_hands_it_back(make: Make, door: Door) -> None:
    """The run returns with its session still running, and the next Runner goes on at once."""
    async with make() as runner:
        run = asyncio.create_task(runner.run_react(door.agent, "Go in"))
        await door.entered.wait()
    left = await run
    assert (left.status, left.data) == (SessionStatus.RUNNING, None)
    door.open.set()
    async with make(agents=[door.agent]) as runner:
        told = await runner.ports.store.events_after(left.session_id, 0)
        released = [event.data["why"] for event in told if event.type is EventType.TURN_RELEASED]
        assert released == ["handed_back"]
        result = await runner.resume(left.session_id)
    assert result.data == "Done."
    assert door.attempts == [1, 2]


async def test_leaving_waits_for_the_results_of_what_it_handed_back(make: Make, door: Door) -> None:
    """However long the store takes to read them."""
    reading = asyncio.Event()

    class SlowReading:
        def __init__(self, store: Store) -> None:
            self._store = store

        def __getattr__(self, name: str) -> Any:
            return getattr(self._store, name)

        async def load_session(self, session_id: str) -> SessionState:
            reading.set()
            for _ in range(20):
                await self._store.workers()
            return await self._store.load_session(session_id)

    @asynccontextmanager
    async def opening(settings: Settings, agents: Registry) -> AsyncIterator[Ports]:
        async with open_ports(settings, agents=agents) as ports:
            yield replace(ports, store=cast(Store, SlowReading(ports.store)))

    async with make(opening=opening) as runner:
        run = asyncio.create_task(runner.run_react(door.agent, "Go in"))
        await door.entered.wait()
    assert reading.is_set()
    assert (await run).status is SessionStatus.RUNNING


async def test_an_error_in_the_block_hands_back_as_well(make: Make, door: Door) -> None:
    runs: list[asyncio.Task[RunResult]] = []

    async def failing() -> None:
        async with make() as runner:
            runs.append(asyncio.create_task(runner.run_react(door.agent, "Go in")))
            await door.entered.wait()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await failing()
    assert (await runs[0]).status is SessionStatus.RUNNING
    async with make() as runner:
        assert await runner.ports.store.running_claims() == []


async def test_a_run_that_is_cancelled_hands_its_session_back(make: Make, door: Door) -> None:
    """What runs beside it goes on."""
    async with make() as runner:
        first = asyncio.create_task(runner.run_react(door.agent, "Go in"))
        await door.entered.wait()
        door.entered.clear()
        second = asyncio.create_task(runner.run_react(door.agent, "Me too"))
        await door.entered.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        [held] = await runner.ports.store.running_claims()
        door.open.set()
        assert (await second).session_id == held.task.session_id


async def test_two_runners_in_one_process_share_a_store(make: Make, door: Door) -> None:
    """A session that both take up runs once, and both have its result."""
    async with make() as one, make(agents=[door.agent]) as other:
        run = asyncio.create_task(one.run_react(door.agent, "Go in"))
        await door.entered.wait()
        [line] = await other.list_sessions()
        same = asyncio.create_task(other.resume(line.index.session_id))
        followed = asyncio.create_task(_collected(other, line.index.session_id))
        door.open.set()
        assert await run == await same
        assert (await followed)[-1] == EventType.SESSION_COMPLETED
    assert door.attempts == [1]


async def test_a_conversation_goes_on_with_what_is_sent(make: Make, door: Door) -> None:
    door.open.set()
    async with make() as runner:
        first = await runner.run_react(door.agent, "Go in")
        await runner.send(first.session_id, "And again")
        second = await runner.resume(first.session_id)
        assert (second.session_id, second.data) == (first.session_id, "Again.")
        assert await runner.resume(first.session_id) == second


async def test_a_cancelled_session_ends_and_stays_so(make: Make, door: Door) -> None:
    async with make() as runner:
        run = asyncio.create_task(runner.run_react(door.agent, "Go in"))
        await door.entered.wait()
        [line] = await runner.list_sessions()
        await runner.cancel_session(line.index.session_id)
        result = await run
        assert result.status is SessionStatus.CANCELLED
        assert await runner.resume(result.session_id) == result


async def test_a_key_enqueues_once(make: Make) -> None:
    async with make() as runner:
        ids = [await runner.enqueue("filed.py:agent", "Go", key=key) for key in ("a", "a", "b")]
        ids.append(await runner.enqueue(None, "Go"))
        assert len(set(ids)) == 3
        assert {line.status for line in await runner.list_sessions()} == {"created"}
        assert [line.index.agent for line in await runner.list_sessions()][-1].endswith("/filed.py:agent")


REFUSED: dict[str, Callable[[Runner], Awaitable[object]]] = {
    "an empty prompt": lambda runner: runner.run_react("filed.py:agent", "  "),
    "a limit below 1": lambda runner: runner.run_react(None, "Go", max_model_turns=0),
    "a limit that isn't one": lambda runner: runner.run_react(None, "Go", **{"max_turns": 3}),
    "a model without a key": lambda runner: runner.run_react(Agent("a", model="openai:x"), "Go"),
    "no model": lambda runner: runner.run_react(Agent("a"), "Go"),
    "no such agent": lambda runner: runner.run_react("filed.py:agnet", "Go"),
    "an agent without a name of its own": lambda runner: runner.run_react(Agent("default"), "Go"),
    "an agent of this program": lambda runner: runner.enqueue(Agent("mine"), "Go"),  # type: ignore[arg-type]
    "its name": lambda runner: runner.enqueue("mine", "Go"),
    "an empty message": lambda runner: runner.send("some", "\n"),
    "a session that isn't there": lambda runner: runner.resume("0b1f"),
}


@pytest.mark.parametrize("asked", REFUSED.values(), ids=REFUSED.keys())
async def test_what_can_not_be_is_refused_before_anything_is_stored(
    make: Make, asked: Callable[[Runner], Awaitable[object]]
) -> None:
    async with make(model=None, agents=[Agent("mine", model="script:script.json")]) as runner:
        with pytest.raises(UsageError):
            await asked(runner)
        assert await runner.list_sessions() == []


async def test_a_resume_needs_the_agent_and_changes_nothing_without_it(make: Make, door: Door) -> None:
    async with make() as runner:
        run = asyncio.create_task(runner.run_react(door.agent, "Go in"))
        await door.entered.wait()
        [line] = await runner.list_sessions()
        session_id = line.index.session_id
        await runner.pause_here(session_id)
        assert (await run).status is SessionStatus.PAUSED
    async with make() as runner:
        before = await runner.get_state(session_id)
        with pytest.raises(AgentUnloadable):
            await runner.resume(session_id)
        assert await runner.get_state(session_id) == before
        with pytest.raises(UnknownSession):
            await runner.resume(session_id[:8])
    door.open.set()
    async with make(agents=[door.agent]) as runner:
        assert (await runner.resume(session_id)).data == "Done."


async def test_an_option_that_is_not_one_is_named(make: Make) -> None:
    with pytest.raises(UsageError, match="'modle'"):
        make(modle="openai:x")
    with pytest.raises(UsageError, match="not both"):
        make(settings=make().settings)


async def test_limits_of_call_runner_and_agent_come_in_this_order(make: Make, door: Door) -> None:
    """None is no limit, and is not the same as saying nothing."""
    door.open.set()
    agent = Agent("guest", tools=door.agent.tools, limits=RuntimeLimits(max_tool_calls=7, max_wall_s=60))
    async with make(max_tool_calls=5, max_model_turns=9, max_wall_s=None) as runner:
        result = await runner.run_react(agent, "Go in", max_model_turns=4)
        limits = (await runner.get_state(result.session_id)).runtime_state.limits
    assert (limits.max_model_turns, limits.max_tool_calls, limits.max_wall_s) == (4, 5, None)


def test_the_limits_are_the_options() -> None:
    """Each field of the record can be given by its name, and nothing else."""
    assert LimitOptions.__annotations__.keys() == RuntimeLimits.model_fields.keys()


async def test_a_runner_works_only_inside_its_block(make: Make) -> None:
    runner = make()
    with pytest.raises(UsageError, match="async with"):
        await runner.run_react(None, "Go")
    async with runner:
        assert await runner.list_sessions() == []
    with pytest.raises(UsageError):
        await runner.list_sessions()
    with pytest.raises(UsageError, match="once"):
        async with runner:
            pass


async def test_who_follows_is_told_that_the_runner_was_left(make: Make) -> None:
    """Nobody waits for an event that can't come any more, and nobody keeps the Runner from being left."""
    seen: list[EventType] = []
    both = asyncio.Event()

    async def wait_for_more() -> None:
        async for event in runner.follow(session_id):
            seen.append(event.type)
            if len(seen) == 2:
                both.set()

    async with make() as runner:
        session_id = await runner.enqueue(None, "Nobody works on this")
        events = runner.follow(session_id)
        await anext(events)
        waiting = asyncio.create_task(wait_for_more())
        await both.wait()
        with pytest.raises(UnknownSession):
            await anext(runner.follow("0b1f"))
    assert seen == [EventType.SESSION_CREATED, EventType.PROMPT_ACCEPTED]
    for late in (waiting, anext(events)):
        with pytest.raises(NonokaError, match="left"):
            await late


async def _collected(runner: Runner, session_id: str) -> list[EventType]:
    return [event.type async for event in runner.follow(session_id)]
