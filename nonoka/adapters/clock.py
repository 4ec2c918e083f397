"""The system's clock, chance and ids: the one module that may ask the operating system for them."""

from __future__ import annotations

import asyncio
import random
import time
import uuid


class SystemClock:
    """The clock port on this machine."""

    def now_ms(self) -> int:
        """The time of day, ms UTC; it jumps when the system's clock is set."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        """Ms of CLOCK_MONOTONIC, which all processes of a boot share and which stands still in sleep."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000_000

    def new_id(self) -> str:
        """A fresh random uuid as text."""
        return str(uuid.uuid4())  # noqa: TID251 - ids come from here, so that everything else can ask the port

    def lot(self) -> float:
        """A number drawn evenly from [0, 1)."""
        return random.random()

    async def sleep_ms(self, ms: int) -> None:
        """Wait that long, by the event loop's clock."""
        await asyncio.sleep(ms / 1000)
