"""Several recover the same lost claim at the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from nonoka.adapters.artifacts import ArtifactFiles
from nonoka.adapters.brokers.silent import SilentBroker
from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.agents.registry import Registry
from nonoka.decisions.conversation_rules import first_fault
from nonoka.engine.accept import send_signal
from nonoka.engine.ports import Ports
from nonoka.engine.running import Running
from nonoka.engine.sweeper import Sweeper
from nonoka.engine.task import TaskRunner
from nonoka.records.event import EventType
from nonoka.records.signal import SignalKind
from tests.support.boundaries import Boundaries, Died, Point, play_death
from tests.support.crash_agent import crash_agent, write_script
from tests.support.machine import Machine
from tests.support.manual_clock import ManualClock
from tests.support.oracle import Oracle
from tests.support.played_workspace import PlayedSnapshots, PlayedUse, PlayedWorktrees
from tests.support.sessions import created

ROUNDS = 50
TURNS: list[dict[str, object]] = [
    {"tool_calls": [{"name": "build", "args": {"target": "app"}}]},
    {"text": "Done."},
]


class Recovery:
    """One process of two, with a store of its own on the same file."""

    def __init__(self, ports: Ports, worker_id: str) -> None:
        self.store = ports.store
        self.sweeper = Sweeper(ports, worker_id, Running())
        self.tasks = TaskRunner(ports, worker_id, Running())

    async def recover(self) -> list[str]:
        """Sweep, and work on whatever there is then, until nothing is left; what was released."""
        released: list[str] = []
        for _ in range(2):
            report = await self.sweeper.sweep()
            assert report.errors == ()
            released += report.released
            while await self.tasks.run_due():
                continue
        return released

    async def resume(self, session_id: str) -> list[str]:
        """What ``sessions resume --here`` does: signal, then sweep and work on it here; what was released."""
        await send_signal(self.store, session_id, SignalKind.RESUME)
        return await self.recover()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def stores(tmp_path: Path, clock: ManualClock) -> AsyncIterator[list[SqliteStore]]:
    """Stores on one file, as three processes have them."""
    opened = [await SqliteStore.open(tmp_path / "sessions.db", clock) for _ in range(3)]
    yield opened
    for store in opened:
        await store.close()


async def test_a_lost_claim_is_released_once_however_many_recover_it(
    tmp_path: Path, clock: ManualClock, stores: list[SqliteStore]
) -> None:
    """Two sweepers and a person who resumes race, fifty times: one death, one result, one more attempt."""
    machine, oracle, registry = Machine(), Oracle(tmp_path), Registry()
    registry.register(crash_agent(lambda: oracle))
    ports = Ports(
        store=stores[0],
        broker=SilentBroker(),
        clock=clock,
        models=_Always(write_script(tmp_path / "script.yaml", TURNS)),
        processes=machine.boot_process(),
        artifacts=ArtifactFiles(tmp_path / "artifacts"),
        snapshots=PlayedSnapshots(),
        workspace_use=PlayedUse(),
        worktrees=PlayedWorktrees(),
        agents=registry,
    )
    first, second, resuming = [await _process(replace(ports, store=store), machine) for store in stores]
    for _ in range(ROUNDS):
        session_id = await _left_in_the_middle_of_its_call(ports, machine)
        released = await asyncio.gather(first.recover(), second.recover(), resuming.resume(session_id))
        assert [task for tasks in released for task in tasks] == [f"{session_id}/turn:1"]
        detail = await stores[0].detail(session_id)
        assert detail.state.status == "completed"
        assert first_fault(detail.state.memory_entries) is None
        deaths = [e.data["deaths"] for e in detail.events if e.type is EventType.TURN_RELEASED]
        assert deaths == [1]
        assert [one.attempt for one in oracle.ran(session_id)] == [1, 2]
        assert machine.overlaps == []


async def _process(ports: Ports, machine: Machine) -> Recovery:
    own = replace(ports, processes=machine.boot_process())
    worker = own.processes.register(own.clock.new_id(), "worker")
    await own.store.register_worker(worker)
    return Recovery(own, worker.worker_id)


async def _left_in_the_middle_of_its_call(ports: Ports, machine: Machine) -> str:
    processes = machine.boot_process()
    mortal = Boundaries(Point("before", "command.finished", 1), play_death).wrap(
        replace(ports, processes=processes)
    )
    worker = processes.register(ports.clock.new_id(), "worker")
    await ports.store.register_worker(worker)
    session_id = await created(ports.store, ports.clock, agent="crash")
    try:
        await TaskRunner(mortal, worker.worker_id, Running()).run_due(session_id=session_id)
    except Died:
        processes.kill()
    assert processes.pid not in machine.alive
    return session_id


class _Always:
    """Every session has this model, whatever its name for it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._catalog = ModelCatalog({})

    async def get(self, name: str) -> object:
        return await self._catalog.get(self._name)
