"""The queue inside one worker process: Dramatiq's in-process broker, fed from the store."""

from __future__ import annotations

import asyncio

from dramatiq.brokers.stub import StubBroker
from dramatiq.middleware import Middleware


class InProcessBroker(StubBroker):
    """Messages live in this process's memory only, which is all that hints need.

    Built with an explicit middleware list: Dramatiq's defaults would retry, limit and store results of
    their own accord.
    """

    def __init__(self, middleware: list[Middleware]) -> None:
        super().__init__(middleware=middleware, fail_fast_default=False)


class WakeUp:
    """The broker port of a worker: a send wakes its feeder, which finds the task in the store."""

    def __init__(self) -> None:
        self._called = asyncio.Event()

    async def send(self, task_id: str) -> None:
        """The feeder looks at once."""
        self._called.set()

    async def wait(self, timeout_s: float) -> None:
        """Return at the next send since the last wait, or after this time."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._called.wait()
        except TimeoutError:
            return
        finally:
            self._called.clear()
