"""Feeds the workers from the store through Redis, and this one without it while Redis does not deliver."""

from __future__ import annotations

import asyncio
from pathlib import Path

import dramatiq
from dramatiq.middleware import Middleware

from nonoka.adapters.brokers.redis.broker import RedisBroker
from nonoka.adapters.brokers.redis.check import check
from nonoka.adapters.brokers.redis.hints import RedisHints
from nonoka.engine.ports import Ports
from nonoka.engine.task import TaskRunner
from nonoka.errors import UnknownSession
from nonoka.ports.broker import Broker
from nonoka.records.task import session_of

#: Between two looks into the store: how long what nobody sent goes unnoticed.
LOOK_MS = 100
#: So many looks between two for what was sent and has not come back, while this worker has nothing to do.
_LOOKS_FOR_LOST = 10
#: A task that was sent this long ago while workers were idle is lost.
_LOST_MS = 1_000
#: How many tasks are sent in one look.
_MOST = 100


class RedisQueue:
    """This process's side of the queue on Redis."""

    port: Broker | None = None

    def __init__(self, url: str, db: Path) -> None:
        self._url = url
        self._db = db
        self._broker: RedisBroker
        self._hints: RedisHints

    def make_broker(self, middleware: list[Middleware]) -> RedisBroker:
        """Dramatiq's side of it."""
        self._broker = RedisBroker(self._url, middleware)
        return self._broker

    async def open(self, ports: Ports, worker: dramatiq.Worker) -> None:
        """Ready for this worker. Raises UsageError where this Redis can't be the queue of this store."""
        if not isinstance(ports.broker, RedisHints) or ports.broker.namespace is None:
            raise TypeError("the ports of a worker on Redis send through it")
        self._hints = ports.broker
        namespace = ports.broker.namespace
        await asyncio.to_thread(check, self._url, namespace, self._db, ports.clock)
        worker.queue_prefetch = worker.worker_threads  # twice as many would be hoarding
        self._broker.bind(namespace, worker)

    def feed(self, ports: Ports, tasks: TaskRunner) -> Sender:
        """What sends the due tasks of the store."""
        return Sender(ports, tasks, self._broker, self._hints)

    def drain(self) -> None:
        """Nothing more is fetched; signs of life go on."""
        self._broker.draining = True

    def pulse(self) -> int | None:
        """Changes as long as the consumer moves."""
        return self._broker.pulse()


class Sender:
    """Sends what is due. Any number of workers do; whoever looks first marks a task as sent."""

    def __init__(self, ports: Ports, tasks: TaskRunner, broker: RedisBroker, hints: RedisHints) -> None:
        self._ports = ports
        self._tasks = tasks
        self._broker = broker
        self._hints = hints

    async def feed_forever(self) -> None:
        """Send what is due, or run it here while Redis is away, until cancelled."""
        looks = 0
        while True:
            looks += 1
            if self._broker.away or self._hints.away:
                found = await self._feed_here()
            else:
                found = await self._send()
            if not found and looks % _LOOKS_FOR_LOST == 0:
                await self._take_lost()
            if found < _MOST:
                await self._ports.clock.sleep_ms(LOOK_MS)

    async def deaths_of(self, task_id: str) -> int:
        """How many workers the task has cost, as the store has it."""
        try:
            standing = await self._ports.store.standing(session_of(task_id))
        except UnknownSession:
            return 0
        return next((task.deaths for task in standing.live_tasks if task.task_id == task_id), 0)

    async def thread_freed(self) -> None:
        """The consumer sees that by itself."""

    async def _send(self) -> int:
        due = await self._ports.store.mark_due(_MOST, agents_to_skip=self._tasks.unloadable.names())
        for task in due:
            await self._ports.broker.send(task.task_id)
        return len(due)

    async def _feed_here(self) -> int:
        if self._broker.room <= 0:
            return 0
        skip = self._tasks.unloadable.names()
        due = await self._ports.store.mark_due(self._broker.room, agents_to_skip=skip)
        for task in due:
            self._broker.take_here(task.task_id)
        return len(due)

    async def _take_lost(self) -> None:
        """With threads to spare, what was sent and not claimed is run here: its message is lost."""
        room, now = self._broker.room, self._ports.clock.now_ms()
        if room <= 0:
            return
        for ready in await self._ports.store.ready_tasks(limit=room):
            task = ready.task
            if task.not_before <= now and task.sent_at is not None and task.sent_at <= now - _LOST_MS:
                self._broker.take_here(task.task_id)
