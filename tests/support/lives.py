"""Lives of played processes over one store: each works on the one session until it is done, or dies."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from nonoka.adapters.artifacts import ArtifactFiles
from nonoka.adapters.brokers.silent import SilentBroker
from nonoka.adapters.memory.store import MemoryStore
from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.agents.registry import Registry
from nonoka.decisions.retry import resend_after_ms
from nonoka.engine.accept import SessionRequest, create_session
from nonoka.engine.drive import drive
from nonoka.engine.ports import Ports
from nonoka.engine.running import Running
from nonoka.engine.sweeper import Sweeper
from nonoka.engine.task import TaskRunner
from nonoka.ports.model import Model, OnText
from nonoka.ports.store import Store
from nonoka.records.commit import Committed, SessionDetail
from nonoka.records.model import ModelAnswer, ModelRequest
from tests.support.boundaries import Boundaries, Died, Point, play_death
from tests.support.crash_agent import TURNS, crash_agent, write_script
from tests.support.crash_laws import Stand, life_faults, stand_of
from tests.support.machine import Machine
from tests.support.manual_clock import ManualClock
from tests.support.oracle import Oracle, RecordingModels
from tests.support.played_workspace import PlayedSnapshots, PlayedUse, PlayedWorktrees

StoreKind = Literal["memory", "sqlite"]
#: "worker": fed from the store turn by turn, as under Dramatiq; "run": created and claimed in one, and kept
Way = Literal["worker", "run"]
#: how long one life may take in all; none comes near
_LIFE_S = 30


class Lives:
    """One store, one session, and the processes that work on it one after another."""

    def __init__(
        self, directory: Path, store_kind: StoreKind, way: Way, turns: Sequence[dict[str, object]] = TURNS
    ) -> None:
        self._directory = directory
        self._kind = store_kind
        self._way = way
        self._clock = ManualClock()
        self._memory = MemoryStore(self._clock)
        self._model = write_script(directory / "script.yaml", list(turns))
        self._stand = Stand()
        self.oracle = Oracle(directory)
        self.machine = Machine()
        self.workspace = directory / "workspace"
        self.workspace.mkdir()
        self.faults: list[str] = []

    async def live(self, at: Point | int | None = None) -> Boundaries:
        """A process works until nothing is left to do, or until it dies at that point; it is gone then."""
        boundaries = self._boundaries(at)
        # What the one before had marked as sent is due again.
        self._clock.advance_ms(resend_after_ms(99))
        processes = self.machine.boot_process()
        store = await self._open()
        ports = boundaries.wrap(
            Ports(
                store=store,
                broker=SilentBroker(),
                clock=self._clock,
                models=RecordingModels(_SlowModels(ModelCatalog({}), self._clock), self.oracle),
                processes=processes,
                artifacts=ArtifactFiles(self._directory / "artifacts"),
                snapshots=PlayedSnapshots(),
                workspace_use=PlayedUse(),
                worktrees=PlayedWorktrees(),
                agents=_registry(self.oracle),
            )
        )
        try:
            async with asyncio.timeout(_LIFE_S):
                await self._work(ports, await self._session(store))
        except Died:
            assert boundaries.dead
        processes.kill()
        await _tool_threads_over()
        # A commit that was under way is carried through or not, as in a real death; after this it is over.
        await store.close()
        await self._judge()
        return boundaries

    async def detail(self) -> SessionDetail:
        """Everything about the session."""
        store = await self._open()
        try:
            return await store.detail(await _session_in(store))
        finally:
            await store.close()

    def _boundaries(self, at: Point | int | None) -> Boundaries:
        return Boundaries(at, play_death)

    def _tasks(self, ports: Ports, worker_id: str) -> TaskRunner:
        return TaskRunner(ports, worker_id, Running(), stay=self._way == "run")

    async def _open(self) -> Store:
        if self._kind == "memory":
            return self._memory
        return await SqliteStore.open(self._directory / "sessions.db", self._clock)

    async def _work(self, ports: Ports, session_id: str) -> None:
        worker = ports.processes.register(ports.clock.new_id(), "worker")
        await ports.store.register_worker(worker)
        report = await Sweeper(ports, worker.worker_id, Running()).sweep()
        self.faults += report.errors + tuple(one.why for one in report.waiting)
        tasks = self._tasks(ports, worker.worker_id)
        if self._way == "run":
            await self._run_here(ports, tasks, worker.worker_id, session_id)
            return
        if not session_id:
            await self._create(ports, None)
        while due := await ports.store.mark_due(1):
            await tasks.run_due(due[0].task_id, deaths=due[0].deaths)

    async def _run_here(self, ports: Ports, tasks: TaskRunner, worker_id: str, session_id: str) -> None:
        claimed = None
        if not session_id:
            session_id, claimed = await self._create(ports, worker_id)
        await drive(ports, tasks, session_id, claimed=claimed)

    async def _judge(self) -> None:
        store = await self._open()
        stand = await stand_of(store, self.oracle, await _session_in(store))
        await store.close()
        self.faults += life_faults(self._stand, stand, self.oracle)
        self._stand = stand

    async def _session(self, store: Store) -> str:
        return await _session_in(store)

    async def _create(self, ports: Ports, claim_by: str | None) -> tuple[str, Committed | None]:
        return await create_session(ports.store, ports.clock, self._request(), claim_by=claim_by)

    def _request(self) -> SessionRequest:
        return SessionRequest(
            prompt="see what is there, then build", agent="crash", model=self._model, working_dir=self.workspace
        )


class _SlowModels:
    """A model whose text takes its time by the clock, so that it is committed in pieces as it streams."""

    def __init__(self, inner: ModelCatalog, clock: ManualClock) -> None:
        self._inner = inner
        self._clock = clock

    async def get(self, name: str) -> Model:
        return _SlowModel(await self._inner.get(name), self._clock)


class _SlowModel:
    def __init__(self, inner: Model, clock: ManualClock) -> None:
        self._inner = inner
        self._clock = clock

    async def respond(self, request: ModelRequest, on_text: OnText) -> ModelAnswer:
        async def slowly(text: str) -> None:
            self._clock.advance_ms(150)
            await on_text(text)

        return await self._inner.respond(request, slowly)


def _registry(oracle: Oracle) -> Registry:
    registry = Registry()
    registry.register(crash_agent(lambda: oracle))
    return registry


async def _session_in(store: Store) -> str:
    lines = await store.list_sessions(limit=2)
    assert len(lines) <= 1, "the session was created twice"
    return lines[0].index.session_id if lines else ""


async def _tool_threads_over() -> None:
    # A killed process has no threads; those of a played one are over before anything is judged.
    for thread in threading.enumerate():
        if thread.name.startswith("tool "):
            await asyncio.to_thread(thread.join, _LIFE_S)
            assert not thread.is_alive(), f"{thread.name} runs on"
