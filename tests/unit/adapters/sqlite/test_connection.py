"""What connection.py relies on in aiosqlite, and what it promises itself."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import aiosqlite
import pytest

from nonoka.adapters.sqlite import connection as module
from nonoka.adapters.sqlite.connection import Connection
from nonoka.errors import StoreBusy, StoreError


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Connection]:
    connection = await Connection.opened(tmp_path / "x.db")
    await connection.outside(lambda c: c.execute("PRAGMA journal_mode = WAL").fetchone())
    await connection.write(lambda c: c.execute("CREATE TABLE t (a INTEGER) STRICT"))
    yield connection
    await connection.close()


def count(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT COUNT(*) FROM t").fetchone()[0])


def insert(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO t VALUES (1)")


async def test_aiosqlite_runs_a_function_in_its_own_thread_in_one_hop(db: Connection) -> None:
    """``_execute(fn)`` runs fn whole in the connection's thread; ``_conn`` is the sqlite3 connection there."""
    here = threading.get_ident()
    there, raw = await db._execute(lambda: (threading.get_ident(), db._conn))  # type: ignore[no-untyped-call]
    assert there != here
    assert isinstance(raw, sqlite3.Connection)
    assert isinstance(db._thread, threading.Thread)
    assert issubclass(Connection, aiosqlite.Connection)


async def test_a_queued_transaction_is_carried_through_though_its_caller_is_cancelled(db: Connection) -> None:
    """Cancelled while it runs, or while it waits in the queue: it commits, and leaves none open."""
    entered, go_on = threading.Event(), threading.Event()

    def slow(c: sqlite3.Connection) -> None:
        entered.set()
        go_on.wait(10)
        insert(c)

    first = asyncio.create_task(db.write(slow))
    await asyncio.to_thread(entered.wait, 10)
    second = asyncio.create_task(db.write(insert))
    await asyncio.sleep(0)
    first.cancel()
    second.cancel()
    go_on.set()
    assert await asyncio.gather(first, second, return_exceptions=True)
    assert await db.read(count) == 2
    assert not await db.outside(lambda c: c.in_transaction)


async def test_what_a_transaction_raises_rolls_it_back(db: Connection) -> None:
    """The exception arrives as it is, and nothing was written."""

    def fails(c: sqlite3.Connection) -> None:
        insert(c)
        raise KeyError("no")

    with pytest.raises(KeyError):
        await db.write(fails)
    assert await db.read(count) == 0


async def test_an_sqlite_error_is_a_store_error_that_names_it(db: Connection) -> None:
    """The caller sees nonoka's error, with SQLite's own words and name."""
    with pytest.raises(StoreError, match=r"no such table.*SQLITE_ERROR"):
        await db.write(lambda c: c.execute("INSERT INTO missing VALUES (1)"))


async def test_a_durable_commit_leaves_the_next_one_as_it_was(db: Connection) -> None:
    """synchronous is FULL (2) inside, and NORMAL (1) again after, also if it fails."""

    def level(c: sqlite3.Connection) -> int:
        return int(c.execute("PRAGMA synchronous").fetchone()[0])

    assert await db.write(level, durable=True) == 2
    assert await db.write(level) == 1
    with pytest.raises(StoreError):
        await db.write(lambda c: c.execute("nonsense"), durable=True)
    assert await db.write(level) == 1


async def test_a_writer_waits_for_another_writers_lock(db: Connection, tmp_path: Path) -> None:
    """A lock held elsewhere delays a transaction, it doesn't fail it."""
    other = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(db.write(insert))
    await asyncio.sleep(0)
    assert not waiting.done()
    other.execute("COMMIT")
    other.close()
    await waiting
    assert await db.read(count) == 1


async def test_a_lock_held_beyond_patience_is_told_and_writes_nothing(
    db: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """StoreBusy says what to look for; the connection can be used again."""
    monkeypatch.setattr(module, "PATIENCE_S", 0.05)
    other = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="another process"):
        await db.write(insert)
    other.execute("COMMIT")
    other.close()
    await db.write(insert)
    assert await db.read(count) == 1


def test_a_connection_left_open_does_not_keep_the_process_alive(tmp_path: Path) -> None:
    """aiosqlite's own would hang for ever here: its thread is no daemon."""
    program = (
        "import asyncio, pathlib\n"
        "from nonoka.adapters.sqlite.connection import Connection\n"
        "async def main():\n"
        f"    global left; left = await Connection.opened(pathlib.Path({str(tmp_path / 'y.db')!r}))\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], timeout=30, check=False)
    assert done.returncode == 0
