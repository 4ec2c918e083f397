"""A worker that lost its claim while it ran a call, and goes on: its commits change nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from nonoka import Agent, tool
from nonoka.adapters.artifacts import ArtifactFiles
from nonoka.adapters.brokers.silent import SilentBroker
from nonoka.adapters.memory.store import MemoryStore
from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.agents.registry import Registry
from nonoka.engine.accept import SessionRequest, create_session, send_signal
from nonoka.engine.ports import Ports
from nonoka.engine.running import Running
from nonoka.engine.sweeper import Sweeper
from nonoka.engine.task import TaskRunner
from nonoka.ports.store import Store
from nonoka.records.signal import SignalKind
from tests.support.crash_agent import write_script
from tests.support.machine import Machine
from tests.support.manual_clock import ManualClock
from tests.support.played_workspace import PlayedSnapshots, PlayedUse, PlayedWorktrees

TURNS: list[dict[str, object]] = [{"tool_calls": [{"name": "wait", "args": {}}]}, {"text": "All done."}]


class Waiting:
    """Each attempt of the tool's call says that it runs, and waits to be told to go on."""

    def __init__(self) -> None:
        self.runs = [asyncio.Event() for _ in range(3)]
        self.go_on = [asyncio.Event() for _ in range(3)]
        self.attempts = 0

    def agent(self) -> Agent:
        @tool
        async def wait() -> str:
            """Wait."""
            attempt = self.attempts
            self.attempts += 1
            self.runs[attempt].set()
            await self.go_on[attempt].wait()
            return f"waited, attempt {attempt + 1}"

        return Agent("waiting", tools=[wait])


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = MemoryStore(clock)
    if request.param == "sqlite":
        opened = await SqliteStore.open(tmp_path / "sessions.db", clock)
    yield opened
    await opened.close()


@pytest.fixture
async def waiting() -> Waiting:
    return Waiting()


@pytest.fixture
def ports(store: Store, clock: ManualClock, tmp_path: Path, waiting: Waiting) -> Ports:
    registry = Registry()
    registry.register(waiting.agent())
    return Ports(
        store=store,
        broker=SilentBroker(),
        clock=clock,
        models=ModelCatalog({}),
        processes=Machine().boot_process(),
        artifacts=ArtifactFiles(tmp_path / "artifacts"),
        snapshots=PlayedSnapshots(),
        workspace_use=PlayedUse(),
        worktrees=PlayedWorktrees(),
        agents=registry,
    )


async def a_worker(ports: Ports, machine: Machine, *, stay: bool = False) -> tuple[TaskRunner, Sweeper, int]:
    """Another process of the machine works on the same store."""
    own = replace(ports, processes=machine.boot_process())
    worker = own.processes.register(own.clock.new_id(), "worker")
    await own.store.register_worker(worker)
    return (
        TaskRunner(own, worker.worker_id, Running(), stay=stay),
        Sweeper(own, worker.worker_id, Running()),
        worker.pid,
    )


async def a_session(ports: Ports, tmp_path: Path) -> str:
    model = write_script(tmp_path / "script.yaml", TURNS)
    request = SessionRequest(prompt="wait", agent="waiting", model=model, working_dir=tmp_path)
    return (await create_session(ports.store, ports.clock, request))[0]


@pytest.mark.parametrize("stay", [False, True])
async def test_a_zombie_worker_cannot_commit(ports: Ports, tmp_path: Path, waiting: Waiting, stay: bool) -> None:
    """Its claim was released meanwhile; its result is refused, and nobody sees that it came."""
    machine = Machine()
    session_id = await a_session(ports, tmp_path)
    zombie, _, zombie_pid = await a_worker(ports, machine, stay=stay)
    living, sweeper, _ = await a_worker(ports, machine)
    late = asyncio.create_task(zombie.run_due())
    await waiting.runs[0].wait()
    machine.alive.discard(zombie_pid)
    assert len((await sweeper.sweep()).released) == 1
    before = await ports.store.detail(session_id)
    waiting.go_on[0].set()
    assert await late
    assert await ports.store.detail(session_id) == before

    waiting.go_on[1].set()
    while await living.run_due():
        continue
    ended = (await ports.store.detail(session_id)).state
    assert ended.status == "completed"
    assert [entry.content for entry in ended.memory_entries[2:]] == ["waited, attempt 2", "All done."]


async def test_a_zombie_worker_cannot_commit_beside_the_new_owner(
    ports: Ports, tmp_path: Path, waiting: Waiting
) -> None:
    """The same while another worker is in the middle of the same call."""
    machine = Machine()
    session_id = await a_session(ports, tmp_path)
    zombie, _, zombie_pid = await a_worker(ports, machine)
    living, sweeper, _ = await a_worker(ports, machine)
    late = asyncio.create_task(zombie.run_due())
    await waiting.runs[0].wait()
    machine.alive.discard(zombie_pid)
    await sweeper.sweep()
    current = asyncio.create_task(living.run_due())
    await waiting.runs[1].wait()
    before = await ports.store.detail(session_id)
    waiting.go_on[0].set()
    await late
    assert await ports.store.detail(session_id) == before
    waiting.go_on[1].set()
    await current
    results = [e for e in (await ports.store.detail(session_id)).state.memory_entries if e.tool_call_id]
    assert [entry.content for entry in results] == ["waited, attempt 2"]


async def test_a_zombie_worker_cannot_commit_to_a_cancelled_session(
    ports: Ports, tmp_path: Path, waiting: Waiting
) -> None:
    """Its call was answered by the cancel, and is never run again."""
    machine = Machine()
    session_id = await a_session(ports, tmp_path)
    zombie, _, zombie_pid = await a_worker(ports, machine)
    living, sweeper, _ = await a_worker(ports, machine)
    late = asyncio.create_task(zombie.run_due())
    await waiting.runs[0].wait()
    machine.alive.discard(zombie_pid)
    await send_signal(ports.store, session_id, SignalKind.CANCEL)
    await sweeper.sweep()
    while await living.run_due():
        continue
    before = await ports.store.detail(session_id)
    assert before.state.status == "cancelled"
    waiting.go_on[0].set()
    await late
    assert await ports.store.detail(session_id) == before
    assert waiting.attempts == 1
