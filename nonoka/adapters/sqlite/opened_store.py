"""The two connections of an open store, and how its transactions run. The three parts of the store build on it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from nonoka.adapters.sqlite import location, meta, schema
from nonoka.adapters.sqlite.connection import Connection
from nonoka.adapters.sqlite.place import Place
from nonoka.ports.clock import Clock
from nonoka.ports.store import LEASE_MS

T = TypeVar("T")


class OpenedStore:
    """One connection that writes, one that reads. Open it with ``open``."""

    def __init__(self, path: Path, clock: Clock, writer: Connection, reader: Connection) -> None:
        self.path = path
        self._clock = clock
        self._writer = writer
        self._reader = reader
        self._place = Place(path)

    @classmethod
    async def open(cls, path: Path, clock: Clock) -> Self:
        """The store at this path, made or migrated if need be. Raises StoreError, StoreTooNew."""
        location.prepare(path)
        writer = await Connection.opened(path)
        try:
            await schema.migrate(writer, str(path), clock.now_ms())
            reader = await Connection.opened(path, read_only=True)
        except BaseException:
            await writer.close()
            raise
        return cls(path, clock, writer, reader)

    async def close(self) -> None:
        """Both connections are closed."""
        try:
            await self._reader.close()
        finally:
            await self._writer.close()

    async def store_id(self) -> str:
        """The id of this store, given to it when first asked for."""
        return await self._write(lambda db: meta.ensure(db, "store_id", self._clock.new_id()))

    async def _stay_in_place(self) -> None:
        if not self._place.is_kept():
            raise await self._writer.outside(self._place.rescue)

    async def _write(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = False) -> T:
        return await self._writer.write(work, durable=durable)

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._reader.read(work)

    def _now(self) -> int:
        return self._clock.now_ms()

    def _lease(self) -> int:
        return self._clock.monotonic_ms() + LEASE_MS
