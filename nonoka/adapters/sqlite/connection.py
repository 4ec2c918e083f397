"""A connection whose transactions take one thread hop each and wait for the write lock fairly.

The one module that relies on aiosqlite's internals (``_execute``, ``_conn``, ``_thread``);
tests/unit/adapters/sqlite/test_connection.py pins what it relies on.
"""

from __future__ import annotations

import asyncio
import ctypes
import random
import sqlite3
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from nonoka.adapters.sqlite.faults import store_error
from nonoka.adapters.sqlite.write_together import Write, commit_together
from nonoka.errors import StoreBusy, StoreVanished

T = TypeVar("T")

#: How long a transaction waits for the write lock before it gives up: longer than a lease (30 s), after which
#: a frozen worker that holds the lock is ended.
PATIENCE_S = 40.0
#: Between two tries for the lock. SQLite's own busy_timeout starves: four tight writers waited up to 4 s.
WAIT_S = (0.0005, 0.002)


#: How long the log grows before it is brought into the store's file: 16 MB of our pages. Who commits then waits
#: for the disk: a quarter of the time of a thousand short turns at 4 MB, half of that at 16.
LOG_PAGES = 8_000

#: The files that this process must not open again.
_abandoned: set[tuple[int, int]] = set()


class Connection(aiosqlite.Connection):
    """One SQLite connection with a thread of its own."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        super().__init__(lambda: _open(path, read_only), 64)
        self._path = path
        self._writes: deque[Write[Any]] = deque()
        # Left open by accident it must not keep the process alive; what was committed stays committed.
        self._thread.daemon = True

    @classmethod
    async def opened(cls, path: Path, *, read_only: bool = False) -> Connection:
        """A connection to the file at this path, which exists. Close it with ``close``. Raises StoreError."""
        if _identity(path) in _abandoned:
            raise StoreVanished(
                f"what lay beside the store {path} was replaced while this process used it; "
                "start the process again"
            )
        connection = cls(path, read_only=read_only)
        try:
            await connection
        except sqlite3.Error as error:
            # Its thread is about to end, and still tells this event loop so: not after the loop is closed.
            await asyncio.to_thread(connection._thread.join)
            raise store_error(error, path) from error
        return connection

    async def abandon(self) -> None:
        """No more of it; but SQLite closes nothing until the process ends, and then neither.

        Nobody opens that file again in this process: SQLite shares what it knows of a file among connections.
        """
        if self._connection is None:
            return
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._conn))
        _abandoned.add(_identity(self._path))
        self._connection = None
        stopped = self.stop()
        if stopped is not None:
            await stopped

    async def write(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = False) -> T:
        """Run ``work`` in one write transaction and commit it; what it raises rolls everything back.

        What else waits to be written by then is committed with it, each whole or not at all. ``durable`` flushes
        it, and all commits before it, to the disk. Once queued it is carried through even if the caller is
        cancelled meanwhile. Raises StoreBusy, StoreError.
        """

        write: Write[T] = Write(work, durable=durable)
        self._writes.append(write)
        return await self._run(lambda: self._outcome_of(write))

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in one read transaction: it sees the store as of one moment."""

        def transaction() -> T:
            db = self._conn
            db.execute("BEGIN")
            try:
                return _patiently(lambda: work(db))
            finally:
                db.execute("ROLLBACK")

        return await self._run(transaction)

    async def outside(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` outside any transaction: for PRAGMAs."""
        return await self._run(lambda: _patiently(lambda: work(self._conn)))

    def _outcome_of(self, write: Write[T]) -> T:
        if not write.is_over:
            commit_together(self._conn, self._writes, _patiently)
        return write.outcome()

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            result: T = await self._execute(work)  # type: ignore[no-untyped-call]  # aiosqlite leaves it untyped
        except sqlite3.DatabaseError as error:
            raise store_error(error, self._path) from error
        return result


def _open(path: Path, read_only: bool) -> sqlite3.Connection:
    # Autocommit: transactions are begun by hand, so that each is BEGIN IMMEDIATE where it writes.
    db = sqlite3.connect(path, timeout=0, isolation_level=None, cached_statements=256)
    db.row_factory = sqlite3.Row
    try:
        for pragma in ("foreign_keys = ON", "synchronous = NORMAL", f"wal_autocheckpoint = {LOG_PAGES}"):
            _patiently(partial(db.execute, f"PRAGMA {pragma}"))
        if read_only:
            db.execute("PRAGMA query_only = ON")
    except BaseException:
        db.close()
        raise
    return db


def _identity(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


def _patiently(step: Callable[[], T]) -> T:
    # This runs in the connection's own thread, so waiting here stops nothing else.
    give_up_at = time.monotonic() + PATIENCE_S  # noqa: TID251  a wait inside the adapter, no stored time
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            if time.monotonic() > give_up_at:  # noqa: TID251
                raise StoreBusy(
                    f"another process has held the store's lock for {PATIENCE_S:.0f} s; "
                    "see which one works on it (a backup, an sqlite3 shell?), then try again"
                ) from error
            time.sleep(random.uniform(*WAIT_S))
