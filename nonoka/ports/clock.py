"""Time, chance and ids: the one place they come from."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """What time it is, and what is drawn by lot."""

    def now_ms(self) -> int:
        """The time of day, ms UTC."""

    def monotonic_ms(self) -> int:
        """Ms on the kernel's monotonic clock: the same for all processes of a boot, still while it sleeps."""

    def new_id(self) -> str:
        """A fresh uuid as text."""

    def lot(self) -> float:
        """A number drawn evenly from [0, 1)."""

    async def sleep_ms(self, ms: int) -> None:
        """Wait that long."""
