"""Work in a thread that can be called off: its git processes are ended, and its end is awaited."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

T = TypeVar("T")


class CalledOff(Exception):
    """The work was called off; it ends where it is."""


class Stop:
    """Tells a thread that nobody wants its work any more."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._guard = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()

    def check(self) -> None:
        """Raise CalledOff if the work was called off."""
        if self._event.is_set():
            raise CalledOff

    def wait(self, seconds: float) -> None:
        """Wait that long; raise CalledOff as soon as the work is called off."""
        self._event.wait(seconds)
        self.check()

    def watch(self, process: subprocess.Popen[bytes]) -> None:
        """End this process when the work is called off."""
        with self._guard:
            self._processes.add(process)
            if self._event.is_set():
                process.kill()

    def unwatch(self, process: subprocess.Popen[bytes]) -> None:
        """It has ended by itself."""
        with self._guard:
            self._processes.discard(process)

    def now(self) -> None:
        """Call the work off."""
        with self._guard:
            self._event.set()
            for process in self._processes:
                process.kill()


async def in_thread(executor: Executor, work: Callable[[Stop], T]) -> T:
    """The result of the work. Cancelled, it returns only when the thread does nothing any more.

    Otherwise a rollback that was called off could go on beneath the next call's feet.
    """
    stop = Stop()
    future = asyncio.get_running_loop().run_in_executor(executor, work, stop)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stop.now()
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError:
                continue
        if not future.cancelled():
            future.exception()
        raise
