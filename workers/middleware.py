"""Dramatiq's hooks: a worker's life begins before its threads and ends after them.

An exception in a hook is only logged by Dramatiq, so whatever must not fail exits the process here.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

import dramatiq
from dramatiq.asyncio import get_event_loop_thread
from dramatiq.middleware import Middleware

from nonoka.app import Wrap
from nonoka.errors import NonokaError, StoreBusy, StoreFull
from nonoka.settings import Settings
from workers.life import Life
from workers.queues import Queue
from workers.tally import Tell

T = TypeVar("T")

#: Exit status of a worker that can't work with what it was given: starting it again would not help.
EXIT_UNUSABLE = 78
#: Exit status of a worker that broke: a fresh process may do better.
EXIT_BROKEN = 70
#: How often a thread that waits for its task looks up. Only exceptions that Dramatiq raises in it need that, and
#: without its TimeLimit and Shutdown there are none; a thousand threads at Dramatiq's 0.1 s cost much of a core.
LOOK_UP_S = 60.0
#: How long the event loop, or the consumer, may be stuck: as long as a lease.
STUCK_S = 30.0


class WorkerLife(Middleware):
    """Ties a worker's Life to Dramatiq's worker. Listed after AsyncIO, whose event loop it uses."""

    def __init__(self, settings: Settings, queue: Queue, *, wrap: Wrap | None = None) -> None:
        self._queue = queue
        self._life = Life(settings, queue, wrap=wrap, die=_die)
        self._over = threading.Event()

    def tell(self, tell: Tell) -> None:
        """What this worker commits is told from its boot on."""
        self._life.tell = tell

    def before_worker_boot(self, broker: dramatiq.Broker, worker: dramatiq.Worker) -> None:
        """The app is open and the feeder runs, or the process ends with a clear line."""
        loop_thread = get_event_loop_thread()
        if loop_thread is not None:
            loop_thread.interrupt_check_ival = LOOK_UP_S
        try:
            _on_loop(self._life.start(worker))
        except (StoreBusy, StoreFull) as error:
            _exit(EXIT_BROKEN, str(error))
        except NonokaError as error:
            _exit(EXIT_UNUSABLE, str(error))
        except Exception as error:  # noqa: BLE001  Dramatiq would log it and work on without a store
            _exit(EXIT_BROKEN, f"{type(error).__name__}: {error}")

    def after_worker_boot(self, broker: dramatiq.Broker, worker: dramatiq.Worker) -> None:
        """From now on somebody watches the threads and the loop."""
        threading.Thread(target=self._watch, args=(worker,), name="watchdog", daemon=True).start()

    def before_worker_shutdown(self, broker: dramatiq.Broker, worker: dramatiq.Worker) -> None:
        """What runs is given its grace, then handed back; Dramatiq waits for its threads meanwhile."""
        self._over.set()
        self._queue.drain()
        self.hurry()

    def hurry(self) -> None:
        """Begin to stop; asked again, stop at once. Heartbeats go on until all is handed back."""
        loop_thread = get_event_loop_thread()
        if loop_thread is not None:
            asyncio.run_coroutine_threadsafe(self._life.stop(), loop_thread.loop)

    def after_worker_shutdown(self, broker: dramatiq.Broker, worker: dramatiq.Worker) -> None:
        """The worker's row and lock are gone, the store is closed."""
        _on_loop(self._life.close())

    async def run(self, task_id: str) -> None:
        """What the actor does."""
        await self._life.run(task_id)

    def _watch(self, worker: dramatiq.Worker) -> None:
        pulse, still = self._queue.pulse(), 0
        while not self._over.wait(1.0):
            before, pulse = pulse, self._queue.pulse()
            still = still + 1 if pulse is not None and pulse == before else 0
            if still >= STUCK_S and not self._over.is_set():
                _exit(EXIT_BROKEN, f"its consumer has not moved for {STUCK_S:g} s")
            dead = [t.name for t in (*worker.workers, *worker.consumers.values()) if not t.is_alive()]
            if dead and not self._over.is_set():
                _exit(EXIT_BROKEN, f"its threads have died: {', '.join(dead)}")
            if not self._loop_answers() and not self._over.is_set():
                _exit(EXIT_BROKEN, f"its event loop has not moved for {STUCK_S:g} s; a tool may be blocking it")

    def _loop_answers(self) -> bool:
        loop_thread = get_event_loop_thread()
        if loop_thread is None or not loop_thread.is_alive():
            return False
        answered = threading.Event()
        loop_thread.loop.call_soon_threadsafe(answered.set)
        return answered.wait(STUCK_S)


def _die(why: str, *, for_good: bool = False) -> None:
    _exit(EXIT_UNUSABLE if for_good else EXIT_BROKEN, why)


def _on_loop(work: Coroutine[Any, Any, T]) -> T:
    loop_thread = get_event_loop_thread()
    if loop_thread is None:
        raise RuntimeError("the event loop of Dramatiq's AsyncIO middleware is not running")
    return asyncio.run_coroutine_threadsafe(work, loop_thread.loop).result()


def _exit(status: int, why: str) -> None:
    # Not sys.exit: this may be any thread, and threads that are stuck must not keep the process.
    print(f"nonoka: error: this worker ends: {why}", file=sys.stderr, flush=True)  # noqa: T201
    os._exit(status)
