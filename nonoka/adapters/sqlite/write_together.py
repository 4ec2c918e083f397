"""Writes of one process that share a transaction: whoever waits for the lock takes the others along.

A commit costs as much for twenty writes as for one, and the lock is asked for once. Each write is still all or
nothing: it runs in a savepoint of its own, sees what those before it did, and is told of its success only after
the commit of all. The connection calls this in its own thread.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")

#: Runs a step of SQLite's once no lock stands in its way.
Patiently = Callable[[Callable[[], object]], object]
#: How many writes share a transaction at most: while they run, other processes wait.
MOST = 32


class Write(Generic[T]):
    """A piece of work that waits to be committed, and what came of it."""

    def __init__(self, work: Callable[[sqlite3.Connection], T], *, durable: bool) -> None:
        self.work = work
        self.durable = durable
        self.is_over = False
        self._result: T
        self._error: BaseException | None = None

    def succeeded(self, result: T) -> None:
        """It is committed."""
        self.is_over, self._result = True, result

    def failed(self, error: BaseException) -> None:
        """Nothing of it is written."""
        self.is_over, self._error = True, error

    def outcome(self) -> T:
        """What the work returned. Raises what it raised, or what the commit did."""
        if self._error is not None:
            raise self._error
        return self._result


def commit_together(db: sqlite3.Connection, writes: deque[Write[Any]], patiently: Patiently) -> None:
    """The first of these writes is over, and so are those after it that could go with it; they are taken off.

    One that is durable waits for a transaction of its own kind; it takes the others along, and they are durable
    as well.
    """
    durable = writes[0].durable
    try:
        if durable:
            db.execute("PRAGMA synchronous = FULL")
        patiently(lambda: db.execute("BEGIN IMMEDIATE"))
    except BaseException as error:  # noqa: BLE001  who waits for it raises it
        writes.popleft().failed(error)
    else:
        # Only now: while the first waited for the lock, others came to wait with it.
        _commit([writes.popleft(), *_fitting(writes, durable=durable)], db, patiently)
    finally:
        if durable:
            db.execute("PRAGMA synchronous = NORMAL")


def _fitting(writes: deque[Write[Any]], *, durable: bool) -> Iterator[Write[Any]]:
    for _ in range(MOST - 1):
        if not writes or (writes[0].durable and not durable):
            return
        yield writes.popleft()


def _commit(taken: list[Write[Any]], db: sqlite3.Connection, patiently: Patiently) -> None:
    done: list[tuple[Write[Any], Any]] = []
    try:
        for write in taken:
            _run(db, write, done, alone=len(taken) == 1)
        patiently(lambda: db.execute("COMMIT"))
    except BaseException as error:  # noqa: BLE001  each of those who wait for them raises it
        for write in taken:
            write.failed(error)
        if db.in_transaction:
            db.execute("ROLLBACK")
        return
    for write, result in done:
        write.succeeded(result)


def _run(db: sqlite3.Connection, write: Write[T], done: list[tuple[Write[Any], Any]], *, alone: bool) -> None:
    if alone:
        done.append((write, write.work(db)))
        return
    db.execute("SAVEPOINT one")
    try:
        result = write.work(db)
    except BaseException as error:
        if not db.in_transaction:
            raise  # SQLite has rolled back all of it (a full disk)
        db.execute("ROLLBACK TO one")
        write.failed(error)
    else:
        done.append((write, result))
    db.execute("RELEASE one")
