"""A clock that stands still until a test moves it; its ids and lots are the same in every run."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")

#: Real time between two moves in ``passing``: what was woken gets so long to do what it woke for.
_BREATH_S = 0.001
START_MS = 1_700_000_000_000


class ManualClock:
    """``ports.clock.Clock`` by hand. Both its clocks move together, by ``advance_ms`` alone."""

    def __init__(self, now_ms: int = START_MS, monotonic_ms: int = 5_000_000) -> None:
        self._now = now_ms
        self._monotonic = monotonic_ms
        self._ids = 0
        self._lots = 0
        self._sleepers: list[tuple[int, asyncio.Future[None]]] = []

    def now_ms(self) -> int:
        return self._now

    def monotonic_ms(self) -> int:
        return self._monotonic

    def new_id(self) -> str:
        self._ids += 1
        return str(uuid.uuid5(uuid.NAMESPACE_OID, str(self._ids)))

    def lot(self) -> float:
        self._lots += 1
        return (self._lots * 0.618_033_988_749_895) % 1.0

    async def sleep_ms(self, ms: int) -> None:
        """Wait until the clock was moved that far."""
        if ms <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._monotonic + ms, woken))
        await woken

    @property
    def sleeping(self) -> int:
        """How many wait for the clock to move."""
        return sum(not woken.done() for _, woken in self._sleepers)

    def advance_ms(self, ms: int) -> None:
        """Both clocks move on, and those whose time has come wake up, in the order of their times."""
        self._now += ms
        self._monotonic += ms
        due = [sleeper for sleeper in self._sleepers if sleeper[0] <= self._monotonic]
        self._sleepers = [sleeper for sleeper in self._sleepers if sleeper[0] > self._monotonic]
        for _, woken in sorted(due, key=lambda sleeper: sleeper[0]):
            if not woken.done():
                woken.set_result(None)

    async def passing(self, work: Awaitable[T]) -> T:
        """What the work brings; until then the clock keeps moving to the time of whoever sleeps the shortest.

        Waits of minutes are over at once. What doesn't sleep by this clock (a tool, a thread) sees time fly.
        """
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                await asyncio.wait([task], timeout=_BREATH_S)
                times = [time for time, woken in self._sleepers if not woken.done()]
                if times and not task.done():
                    self.advance_ms(max(0, min(times) - self._monotonic))
        finally:
            task.cancel()
        return await task

    def jump_ms(self, ms: int) -> None:
        """Only the time of day changes, as when somebody sets it."""
        self._now += ms
