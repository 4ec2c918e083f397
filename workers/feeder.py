"""Feeds a worker's in-process queue from the store: never more tasks than it has free threads."""

from __future__ import annotations

from collections.abc import Callable

import dramatiq
from dramatiq.middleware import Middleware

from nonoka.adapters.brokers.in_process import InProcessBroker, WakeUp
from nonoka.adapters.brokers.queue_names import actor_of
from nonoka.engine.ports import Ports
from nonoka.engine.task import TaskRunner
from nonoka.ports.broker import Broker

#: Between two looks into the store while nothing wakes it: how long another process's send goes unnoticed.
LOOK_S = 0.05


class InProcessQueue:
    """The queue of one process, which nothing leaves."""

    def __init__(self) -> None:
        self._wake_up = WakeUp()
        self.port: Broker | None = self._wake_up
        self._broker: InProcessBroker
        self._threads = 0

    def make_broker(self, middleware: list[Middleware]) -> InProcessBroker:
        """Dramatiq's side of it."""
        self._broker = InProcessBroker(middleware)
        return self._broker

    async def open(self, ports: Ports, worker: dramatiq.Worker) -> None:
        """Ready for this worker."""
        self._threads = worker.worker_threads

    def feed(self, ports: Ports, tasks: TaskRunner) -> Feeder:
        """What feeds it from the store."""
        return Feeder(ports, tasks, self._wake_up, threads=self._threads, push=self._push)

    def drain(self) -> None:
        """What was pushed is little, and dropped by who takes it."""

    def pulse(self) -> int | None:
        """Nothing can stand still here but the threads, which are watched anyway."""
        return None

    def _push(self, task_id: str) -> None:
        self._broker.get_actor(actor_of(task_id)).send(task_id)


class Feeder:
    """Marks due tasks as sent and pushes them, as long as threads are free."""

    def __init__(
        self, ports: Ports, tasks: TaskRunner, wake_up: WakeUp, *, threads: int, push: Callable[[str], None]
    ) -> None:
        self._ports = ports
        self._tasks = tasks
        self._wake_up = wake_up
        self._free = threads
        self._push = push
        self._deaths: dict[str, int] = {}

    async def feed_forever(self) -> None:
        """Push what is due until cancelled."""
        while True:
            due = []
            if self._free > 0:
                skip = self._tasks.unloadable.names()
                due = await self._ports.store.mark_due(self._free, agents_to_skip=skip, shared=True)
            for task in due:
                self._free -= 1
                self._deaths[task.task_id] = task.deaths
                self._push(task.task_id)
            # With threads to spare there is no more for this worker, or what is there is the share of others.
            if not due or self._free > 0:
                await self._wake_up.wait(LOOK_S)

    async def deaths_of(self, task_id: str) -> int:
        """How many workers the pushed task had cost; asked once."""
        return self._deaths.pop(task_id, 0)

    async def thread_freed(self) -> None:
        """A pushed task was run or dropped: there is room for another."""
        self._free += 1
        await self._wake_up.send("")
