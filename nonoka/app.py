"""Wires nonoka together: picks the adapters for some settings, and makes this process a worker."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nonoka.adapters.artifacts import ArtifactFiles
from nonoka.adapters.brokers.silent import SilentBroker
from nonoka.adapters.clock import SystemClock
from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.adapters.processes import LocalProcesses
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.agents.registry import Registry, normalized
from nonoka.engine.accept import SessionRequest
from nonoka.engine.lease_keeper import LeaseKeeper
from nonoka.engine.ports import Ports
from nonoka.engine.running import Running
from nonoka.engine.sweeper import Sweeper
from nonoka.engine.task import TaskRunner
from nonoka.errors import StoreError, UsageError
from nonoka.ports.broker import Broker
from nonoka.records.runtime import RuntimeLimits
from nonoka.records.task import Worker
from nonoka.settings import Settings

#: May replace ports by others around them; what tests use to count and to crash.
Wrap = Callable[[Ports], Ports]


@asynccontextmanager
async def open_ports(
    settings: Settings,
    *,
    broker: Broker | None = None,
    agents: Registry | None = None,
    wrap: Wrap | None = None,
) -> AsyncIterator[Ports]:
    """The ports over this machine's real things; the store is closed at the end. Raises StoreError."""
    clock = SystemClock()
    store = await SqliteStore.open(settings.db, clock)
    ports = Ports(
        store=store,
        broker=broker or SilentBroker(),
        clock=clock,
        models=ModelCatalog(os.environ),
        processes=LocalProcesses(settings.home / "workers", clock),
        artifacts=ArtifactFiles(settings.home / "artifacts"),
        agents=agents or Registry(),
        environ=dict(os.environ),
        forbidden_files=lambda: _identities(settings.db),
    )
    try:
        yield wrap(ports) if wrap else ports
    finally:
        await store.close()


@dataclass(frozen=True, slots=True)
class WorkerParts:
    """What a process that runs tasks has beside the ports."""

    worker: Worker
    running: Running
    tasks: TaskRunner
    keeper: LeaseKeeper
    sweeper: Sweeper


@asynccontextmanager
async def as_worker(
    ports: Ports, kind: Literal["worker", "run", "sweep"], *, stay: bool = False
) -> AsyncIterator[WorkerParts]:
    """This process is a worker: it holds a lock, and its row says so until the end."""
    worker = ports.processes.register(ports.clock.new_id(), kind)
    await ports.store.register_worker(worker)
    running = Running()
    tasks = TaskRunner(ports, worker.worker_id, running, stay=stay)
    try:
        yield WorkerParts(
            worker=worker,
            running=running,
            tasks=tasks,
            keeper=LeaseKeeper(ports, worker.worker_id, running, tasks.hand_back),
            sweeper=Sweeper(ports, worker.worker_id),
        )
    finally:
        await _retire(ports, worker)


async def _retire(ports: Ports, worker: Worker) -> None:
    try:
        await ports.store.remove_worker(worker.worker_id)
    except StoreError:
        # It still owns something: the row stays, and whoever sweeps next finds its owner dead.
        return
    ports.processes.unregister(worker)


def request_for(
    ports: Ports,
    settings: Settings,
    prompt: str,
    *,
    agent: str | None = None,
    limits: dict[str, Any] | None = None,
) -> SessionRequest:
    """What a new session is asked to be, checked as far as it can be here. Raises UsageError."""
    if not prompt.strip():
        raise UsageError("the prompt is empty; say what is to be done")
    name = agent or settings.agent
    if ":" in name:
        name = normalized(name, Path.cwd())
    loaded = ports.agents.load(name)
    model = settings.model or loaded.model
    if model is None:
        raise UsageError(
            "no model: pass --model, or set NONOKA_MODEL (openai:NAME, or script:FILE to try without a key)"
        )
    merged = loaded.limits.model_dump() | settings.limits.model_dump(exclude_unset=True) | (limits or {})
    return SessionRequest(
        prompt=prompt,
        agent=name,
        model=ports.models.normalized(model),
        working_dir=settings.cwd,
        limits=RuntimeLimits.model_validate(merged),
    )


def _identities(db: Path) -> frozenset[tuple[int, int]]:
    found = set()
    for path in (db, *(db.with_name(db.name + suffix) for suffix in ("-wal", "-shm", "-journal"))):
        try:
            status = path.stat()
        except OSError:
            continue
        found.add((status.st_dev, status.st_ino))
    return frozenset(found)
