"""Makes this process a worker of a store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from nonoka.agents.coroutines import ToolLoops
from nonoka.engine.lease_keeper import LeaseKeeper
from nonoka.engine.ports import Ports
from nonoka.engine.running import Running
from nonoka.engine.sweeper import Sweeper
from nonoka.engine.task import TaskRunner
from nonoka.errors import StoreError, UsageError
from nonoka.records.task import Liveness, Worker, WorkerKind

#: A worker of which the kernel says nothing lives if it was seen within this time.
_SEEN_MS = 60_000


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
    ports: Ports, kind: WorkerKind, *, stay: bool = False, broker: str | None = None
) -> AsyncIterator[WorkerParts]:
    """This process is a worker: it holds a lock, and its row says so until the end.

    ``broker`` is what it shares with the other workers, where it shares anything; UsageError if theirs is
    another.
    """
    # An async tool inside somebody's program shares that program's loop, and with it its clients and pools.
    loops = ToolLoops() if kind != "embedded" else None
    ports = replace(ports, tool_loops=loops)
    worker = ports.processes.register(ports.clock.new_id(), kind)
    await ports.store.register_worker(worker)
    running = Running()
    tasks = TaskRunner(ports, worker.worker_id, running, stay=stay, give_way=kind == "worker")
    try:
        if broker is not None:
            await _agree(ports, worker, broker)
        yield WorkerParts(
            worker=worker,
            running=running,
            tasks=tasks,
            keeper=LeaseKeeper(ports, worker.worker_id, running, tasks.hand_back),
            sweeper=Sweeper(ports, worker.worker_id, running),
        )
    finally:
        if loops is not None:
            loops.close()
        await _retire(ports, worker)


async def _agree(ports: Ports, worker: Worker, broker: str) -> None:
    agreed = await ports.store.agree_on_broker(broker)
    if agreed != broker and worker.kind == "worker" and not await _others(ports, worker):
        agreed = await ports.store.agree_on_broker(broker, instead_of=agreed)
    if agreed != broker:
        raise UsageError(
            f"the workers of this store share {agreed}, and this process would {broker}: give all of them "
            "the same NONOKA_REDIS_URL (or none), or stop those workers first"
        )


async def _others(ports: Ports, worker: Worker) -> list[Worker]:
    found = []
    for other in await ports.store.workers():
        if other.kind == "worker" and other.worker_id != worker.worker_id:
            liveness = ports.processes.liveness(other)
            seen = ports.clock.now_ms() - other.seen_at < _SEEN_MS
            if liveness is Liveness.ALIVE or (liveness is Liveness.UNKNOWN and seen):
                found.append(other)
    return found


async def _retire(ports: Ports, worker: Worker) -> None:
    try:
        await ports.store.remove_worker(worker.worker_id)
    except StoreError:
        # It still owns something: the row stays, and whoever sweeps next finds its owner dead.
        return
    ports.processes.unregister(worker)
