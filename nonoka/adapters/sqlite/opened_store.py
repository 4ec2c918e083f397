"""The two connections of an open store, and how its transactions run. The three parts of the store build on it."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from nonoka.adapters.sqlite import location, meta, schema
from nonoka.adapters.sqlite.connection import Connection
from nonoka.adapters.sqlite.known_views import KnownViews
from nonoka.adapters.sqlite.place import Place
from nonoka.errors import StoreFull
from nonoka.ports.clock import Clock
from nonoka.ports.store import LEASE_MS

T = TypeVar("T")

log = logging.getLogger(__name__)

#: A worker waits a minute for room; then it ends, and what it held is released by whoever sweeps.
_TRIES_FOR_ROOM = 60
_BETWEEN_TRIES_S = 1.0


class OpenedStore:
    """One connection that writes, one that reads. Open it with ``open``."""

    def __init__(self, path: Path, clock: Clock, writer: Connection, reader: Connection) -> None:
        self.path = path
        self._clock = clock
        self._writer = writer
        self._reader = reader
        self._place = Place(path)
        self._known = KnownViews()

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
        """Both connections are closed, or given up where closing would write over what others committed."""
        if self._place.may_be_closed():
            try:
                await self._reader.close()
            finally:
                await self._writer.close()
        else:
            await self._reader.abandon()
            await self._writer.abandon()

    async def store_id(self) -> str:
        """The id of this store, given to it when first asked for."""
        return await self._write(lambda db: meta.ensure(db, "store_id", self._clock.new_id()))

    async def _write(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = False) -> T:
        def in_place(db: sqlite3.Connection) -> T:
            # Looked at with the lock in hand: what is committed after the file was taken away would be lost.
            if not self._place.is_kept():
                raise _Gone
            return work(db)

        try:
            return await self._writer.write(in_place, durable=durable)
        except _Gone:
            raise await self._writer.outside(self._place.rescue) from None

    async def _write_once_there_is_room(
        self, work: Callable[[sqlite3.Connection], T], *, durable: bool = False
    ) -> T:
        """As ``_write``, but a full disk is waited for: what a worker has in hand would be lost with it."""
        for _ in range(_TRIES_FOR_ROOM):
            try:
                return await self._write(work, durable=durable)
            except StoreFull as error:
                log.warning("store_full: %s", error)
            await asyncio.sleep(_BETWEEN_TRIES_S)
        return await self._write(work, durable=durable)

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._reader.read(work)

    def _now(self) -> int:
        return self._clock.now_ms()

    def _lease(self) -> int:
        return self._clock.monotonic_ms() + LEASE_MS


class _Gone(Exception):
    """The files at the path are not those that were opened."""
