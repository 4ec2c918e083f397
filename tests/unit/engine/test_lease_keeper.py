"""The heartbeat, and what it does where the store and the process disagree."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from nonoka.adapters.artifacts import ArtifactFiles
from nonoka.adapters.brokers.silent import SilentBroker
from nonoka.adapters.memory.store import MemoryStore
from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.adapters.processes import LocalProcesses
from nonoka.agents.registry import Registry
from nonoka.decisions.turn import begin
from nonoka.engine.deciding import deciding
from nonoka.engine.lease_keeper import LeaseKeeper
from nonoka.engine.ports import Ports
from nonoka.engine.running import Running
from nonoka.errors import NonokaError
from nonoka.ports.store import LEASE_MS
from nonoka.records.commit import Claim, Committed, NewSignal
from nonoka.records.signal import SignalKind
from tests.support.manual_clock import ManualClock
from tests.support.played_workspace import PlayedSnapshots, PlayedUse, PlayedWorktrees
from tests.support.sessions import new_session


@dataclass
class Setup:
    """A worker with one claimed session and the keeper of its leases."""

    tmp: str
    clock: ManualClock = field(default_factory=ManualClock)
    running: Running = field(default_factory=Running)
    handed_back: list[Claim] = field(default_factory=list)
    stuck: bool = False

    def __post_init__(self) -> None:
        from pathlib import Path

        home = Path(self.tmp)
        self.store = MemoryStore(self.clock)
        self.ports = Ports(
            store=self.store,
            broker=SilentBroker(),
            clock=self.clock,
            models=ModelCatalog({}),
            processes=LocalProcesses(home, self.clock),
            artifacts=ArtifactFiles(home),
            snapshots=PlayedSnapshots(),
            workspace_use=PlayedUse(),
            worktrees=PlayedWorktrees(),
            agents=Registry(),
        )
        self.keeper = LeaseKeeper(self.ports, "w1", self.running, self._hand_back)

    async def _hand_back(self, claim: Claim) -> None:
        self.handed_back.append(claim)
        if self.stuck:
            raise NonokaError("process 7 can't be ended")

    async def claimed(self) -> Committed:
        committed = await self.store.create_session(new_session(self.clock), claim_by="w1", decide=deciding(begin))
        assert committed is not None
        return committed

    async def at_work(self, claim: Claim) -> asyncio.Task[str]:
        started = asyncio.Event()

        async def work() -> str:
            with self.running.entered(claim) as running:
                started.set()
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    return str(running.interrupted)
            return "never"

        task = asyncio.create_task(work())
        await started.wait()
        return task


async def test_a_beat_renews_the_leases_of_its_worker(tmp_path: object) -> None:
    """A lease counts anew from each beat."""
    setup = Setup(str(tmp_path))
    committed = await setup.claimed()
    work = await setup.at_work(committed.claim)
    setup.clock.advance_ms(LEASE_MS - 1)
    await setup.keeper.beat()
    setup.clock.advance_ms(LEASE_MS - 1)
    [claim] = await setup.store.running_claims()
    assert not claim.owner_leases_run_out
    work.cancel()
    await work


async def test_a_task_whose_claim_another_has_is_interrupted_at_the_second_beat(tmp_path: object) -> None:
    """Not at the first: a commit may be on its way back to the one who made it."""
    setup = Setup(str(tmp_path))
    committed = await setup.claimed()
    work = await setup.at_work(committed.claim)
    [lost] = await setup.store.running_claims()
    assert await setup.store.take_over(lost, "w2")
    await setup.keeper.beat()
    await asyncio.sleep(0)
    assert not work.done()
    await setup.keeper.beat()
    assert await work == "lost"


@pytest.mark.parametrize("payload", [None, {"now": "true"}], ids=["cancel", "pause now"])
async def test_a_task_of_a_session_that_is_to_stop_at_once_is_interrupted(
    tmp_path: object, payload: dict[str, str] | None
) -> None:
    """Its work stops where it is, so that the cancel, or the pause that can't wait, can be committed."""
    setup = Setup(str(tmp_path))
    committed = await setup.claimed()
    work = await setup.at_work(committed.claim)
    session_id = committed.claim.session_id
    await setup.store.add_signal(session_id, NewSignal(kind=SignalKind.PAUSE))
    await setup.keeper.beat()
    await asyncio.sleep(0)
    assert not work.done()
    kind = SignalKind.CANCEL if payload is None else SignalKind.PAUSE
    await setup.store.add_signal(session_id, NewSignal(kind=kind, payload=payload or {}))
    await setup.keeper.beat()
    assert await work == "signal"


async def test_a_claim_that_nobody_here_works_on_is_handed_back(tmp_path: object) -> None:
    """Else it would be renewed for ever and its session stand still."""
    setup = Setup(str(tmp_path))
    committed = await setup.claimed()
    await setup.keeper.beat()
    assert setup.handed_back == []
    await setup.keeper.beat()
    assert setup.handed_back == [committed.claim]


async def test_a_claim_that_cannot_be_handed_back_does_not_end_the_heartbeat(tmp_path: object) -> None:
    """Else one process that nobody can end would take worker after worker with it."""
    setup = Setup(str(tmp_path), stuck=True)
    await setup.claimed()
    for _ in range(3):
        await setup.keeper.beat()
    assert len(setup.handed_back) == 2


async def test_a_claim_that_the_sweeper_settles_is_left_to_it(tmp_path: object) -> None:
    """It is no orphan, however long settling takes."""
    setup = Setup(str(tmp_path))
    committed = await setup.claimed()
    setup.running.withheld.add((committed.claim.task_id, committed.claim.fence))
    for _ in range(3):
        await setup.keeper.beat()
    assert setup.handed_back == []
