"""A worker process's life on its event loop: opens the app, keeps heartbeat, sweeper and feeder going."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, Protocol

import dramatiq

from nonoka.app import WorkerParts, Wrap, as_worker, broker_name, open_ports
from nonoka.engine.collector import collect_forever
from nonoka.errors import NonokaError, StoreDamaged, StoreError, StoreFull, WorkerUnfit
from nonoka.settings import Settings
from workers.queues import Feed, Queue
from workers.tally import Tell, tallied

log = logging.getLogger(__name__)

#: How long what runs may take to end by itself once the worker is told to stop; then it is handed back.
#: Container runtimes kill after 10 s by default.
GRACE_S = 8.0
#: How long the rest of the process may take to hand back before an unfit worker exits.
DRAIN_S = 5.0
#: Between two looks whether a full disk has room again.
FULL_PAUSE_S = 1.0


class Die(Protocol):
    """Ends the process; ``for_good`` where another one would fare no better."""

    def __call__(self, why: str, *, for_good: bool = False) -> None: ...


class Life:
    """What a worker process holds between its boot and its end."""

    def __init__(self, settings: Settings, queue: Queue, *, wrap: Wrap | None, die: Die) -> None:
        self._settings = settings
        self._queue = queue
        self._wrap = wrap
        self._die = die
        #: who hears of what this worker commits, for the metrics
        self.tell: Tell | None = None
        self._stack = AsyncExitStack()
        self._beside: list[asyncio.Task[Any]] = []
        self._stopping = False
        self._parts: WorkerParts
        self._feed: Feed
        self._feeding: asyncio.Task[None]

    async def start(self, worker: dramatiq.Worker) -> None:
        """The process is a worker: it beats, sweeps and feeds. Raises NonokaError where it can't be one."""
        opened = await self._stack.enter_async_context(open_ports(self._settings, broker=self._queue.port))
        await self._queue.open(opened, worker)
        ports = self._wrap(opened) if self._wrap else opened
        if self.tell is not None:
            ports = replace(ports, store=tallied(ports.store, ports.clock, self.tell))
        name = broker_name(self._settings)
        self._parts = await self._stack.enter_async_context(as_worker(ports, "worker", broker=name))
        self._feed = self._queue.feed(ports, self._parts.tasks)
        self._feeding = self._keep("feeder", self._feed_whenever_there_is_room())
        self._keep("heartbeat", self._parts.keeper.keep())
        self._keep("sweeper", self._parts.sweeper.sweep_forever())
        self._keep("collector", collect_forever(ports))
        log.info("worker_started worker=%s threads=%s", self._parts.worker.worker_id, worker.worker_threads)

    async def run(self, task_id: str) -> None:
        """Run this task, or the next due one if it is taken."""
        try:
            if not self._stopping:
                await self._parts.tasks.run_due(task_id, deaths=await self._feed.deaths_of(task_id))
        except asyncio.CancelledError:
            log.info("task_handed_back task=%s", task_id)
        except WorkerUnfit as error:
            await self._leave(str(error))
        except StoreError as error:
            # What this process held is settled by whoever sweeps; going on could only repeat the failure.
            await self._leave(f"the store failed: {error}", for_good=isinstance(error, StoreDamaged))
        finally:
            await self._feed.thread_freed()

    async def stop(self) -> None:
        """Take nothing new; give what runs its grace, then have it handed back."""
        if self._stopping:
            self._parts.running.interrupt_all()
            return
        self._stopping = True
        self._parts.tasks.stop_staying()
        self._feeding.cancel()
        # It may still look when the last of what runs has ended: then the end of the worker ends it.
        current = asyncio.current_task()
        self._beside += [current] if current is not None else []
        for _ in range(round(GRACE_S / 0.1)):
            if not len(self._parts.running):
                return
            await asyncio.sleep(0.1)
        self._parts.running.interrupt_all()

    async def close(self) -> None:
        """The worker is gone: its row, its lock, its store."""
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        await self._stack.aclose()

    async def _feed_whenever_there_is_room(self) -> None:
        while True:
            try:
                await self._feed.feed_forever()
            except StoreFull as error:
                log.warning("feeding_failed: %s", error)
            await asyncio.sleep(FULL_PAUSE_S)

    def _keep(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._ended)
        self._beside.append(task)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        error = task.exception()
        if isinstance(error, NonokaError):
            self._die(f"its {task.get_name()} failed: {error}", for_good=isinstance(error, StoreDamaged))
        else:
            log.critical("worker_broken part=%s", task.get_name(), exc_info=error)
            self._die(f"its {task.get_name()} failed")

    async def _leave(self, why: str, *, for_good: bool = False) -> None:
        self._stopping = True
        self._parts.tasks.stop_staying()
        self._feeding.cancel()
        current = asyncio.current_task()
        for running in self._parts.running:
            if running.work is not current:
                running.interrupt("stop")
        for _ in range(round(DRAIN_S / 0.1)):
            if all(running.work is current for running in self._parts.running):
                break
            await asyncio.sleep(0.1)
        self._die(why, for_good=for_good)
