"""Collections beside a worker's work: one an hour among all of a store, and no failure ends them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from nonoka.adapters.artifacts import ArtifactFiles
from nonoka.adapters.brokers.silent import SilentBroker
from nonoka.adapters.memory.store import MemoryStore
from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.adapters.processes import LocalProcesses
from nonoka.agents.registry import Registry
from nonoka.engine.collector import EVERY_MS, LOOK_MS, collect_forever
from nonoka.engine.ports import Ports
from nonoka.errors import StoreError
from nonoka.records.retention import Retention
from tests.support.manual_clock import ManualClock
from tests.support.played_workspace import PlayedSnapshots, PlayedUse, PlayedWorktrees
from tests.support.sessions import answer, answering, claimed

A_DAY = 86_400_000


class Setup:
    """Two workers' collectors over one store. ``beside`` says whose sessions lie there too."""

    def __init__(self, home: Path) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(self.clock)
        self.artifacts = ArtifactFiles(home / "artifacts")
        self.beside: Callable[[], frozenset[str]] = frozenset
        self.ports = Ports(
            store=self.store,
            broker=SilentBroker(),
            clock=self.clock,
            models=ModelCatalog({}),
            processes=LocalProcesses(home / "workers", self.clock),
            artifacts=self.artifacts,
            snapshots=PlayedSnapshots(),
            workspace_use=PlayedUse(),
            worktrees=PlayedWorktrees(),
            agents=Registry(),
            sessions_beside=lambda: self.beside(),
            retention=Retention(keep_days=1),
        )

    async def old_session(self) -> str:
        session_id, claim = await claimed(self.store, self.clock)
        await self.store.commit(claim, answering(answer()))
        await asyncio.to_thread(self.artifacts.keep, session_id, "result", "x")
        self.clock.advance_ms(A_DAY + 1)
        return session_id

    async def look(self) -> None:
        """Both look whether a collection is due, and are done with it."""
        self.clock.advance_ms(LOOK_MS)
        async with asyncio.timeout(20):
            while self.clock.sleeping < 2:  # noqa: ASYNC110  they sleep again when they are done
                await asyncio.sleep(0.001)

    async def known(self, session_id: str) -> bool:
        return bool(await self.store.known_sessions([session_id]))


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[Setup]:
    setup = Setup(tmp_path)
    tasks = [asyncio.create_task(collect_forever(setup.ports)) for _ in range(2)]
    while setup.clock.sleeping < 2:  # noqa: ASYNC110  as above
        await asyncio.sleep(0.001)
    yield setup
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_old_sessions_go_once_an_hour(setup: Setup) -> None:
    first = await setup.old_session()
    await setup.look()
    assert not await setup.known(first)
    assert setup.artifacts.kept() == {}
    # Made old, and yet within the hour of the last collection: what counts is when that was.
    second, claim = await claimed(setup.store, setup.clock)
    await setup.store.commit(claim, answering(answer()))
    await setup.look()
    assert await setup.known(second)
    assert not await setup.store.begin_collection(again_in_ms=1)
    setup.clock.advance_ms(EVERY_MS)
    assert await setup.store.begin_collection(again_in_ms=1)


async def test_a_collection_that_fails_ends_no_later_one(setup: Setup) -> None:
    """A store beside that can't be read: nobody knows whose artifacts these are, so they stay until it can be."""

    def unreadable() -> frozenset[str]:
        raise StoreError("other.db can't be read")

    setup.beside = unreadable
    session_id = await setup.old_session()
    await setup.look()
    assert not await setup.known(session_id)
    assert list(setup.artifacts.kept()) == [session_id]
    setup.beside = frozenset
    setup.clock.advance_ms(EVERY_MS)
    await setup.look()
    assert setup.artifacts.kept() == {}


async def test_what_a_store_beside_holds_is_left_alone(setup: Setup) -> None:
    setup.beside = lambda: frozenset({"theirs"})
    await asyncio.to_thread(setup.artifacts.keep, "theirs", "result", "x")
    await asyncio.to_thread(setup.artifacts.keep, "nobodys", "result", "x")
    await setup.old_session()
    await setup.look()
    assert list(setup.artifacts.kept()) == ["theirs"]
