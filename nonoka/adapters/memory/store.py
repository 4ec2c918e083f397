"""A store that lives as long as its process: for tests, and for a program that keeps nothing."""

from __future__ import annotations

from nonoka.adapters.memory.reading import MemoryReading
from nonoka.adapters.memory.retention import MemoryRetention
from nonoka.adapters.memory.sessions import MemorySessions
from nonoka.adapters.memory.tables import Tables
from nonoka.adapters.memory.tasks import MemoryTasks
from nonoka.ports.clock import Clock


class MemoryStore(MemoryTasks, MemorySessions, MemoryReading, MemoryRetention):
    """``ports.store.Store`` without a file. One event loop may use it; it is not for several threads."""

    def __init__(self, clock: Clock) -> None:
        self._tables = Tables(clock)

    async def store_id(self) -> str:
        """See the port. It is the only one of its process that lives no longer."""
        return "memory"

    async def close(self) -> None:
        """Let go of the store; there is nothing to close."""
