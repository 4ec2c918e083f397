"""Writes that wait for the lock together are committed together, each whole or not at all."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import pytest

from nonoka.adapters.sqlite.connection import Connection
from nonoka.errors import StoreError


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Connection]:
    connection = await Connection.opened(tmp_path / "x.db")
    await connection.outside(lambda c: c.execute("PRAGMA journal_mode = WAL").fetchone())
    await connection.write(lambda c: c.execute("CREATE TABLE t (a INTEGER PRIMARY KEY) STRICT"))
    yield connection
    await connection.close()


def putting(number: int) -> Callable[[sqlite3.Connection], int]:
    """Write this number; returns how many are there then."""

    def work(c: sqlite3.Connection) -> int:
        c.execute("INSERT INTO t VALUES (?)", (number,))
        return int(c.execute("SELECT COUNT(*) FROM t").fetchone()[0])

    return work


def puts_and_raises(c: sqlite3.Connection) -> None:
    putting(99)(c)
    raise LookupError("after it had written")


async def all_at_once(db: Connection, *works: Callable[[sqlite3.Connection], object]) -> list[object]:
    """The outcomes of writes that all wait before the first of them begins."""
    held, go_on = threading.Event(), threading.Event()

    def hold(c: sqlite3.Connection) -> None:
        held.set()
        go_on.wait(10)

    first = asyncio.create_task(db.read(hold))
    await asyncio.to_thread(held.wait, 10)
    writes = [asyncio.create_task(db.write(work)) for work in works]
    await asyncio.sleep(0)
    go_on.set()
    await first
    return await asyncio.gather(*writes, return_exceptions=True)


def commits(c: sqlite3.Connection) -> list[str]:
    """Every COMMIT from now on is noted here."""
    noted: list[str] = []
    c.set_trace_callback(lambda statement: noted.append(statement) if statement == "COMMIT" else None)
    return noted


async def numbers(db: Connection) -> list[int]:
    return await db.read(lambda c: [row[0] for row in c.execute("SELECT a FROM t ORDER BY a")])


async def test_waiting_writes_share_a_commit_and_see_each_other_in_order(db: Connection) -> None:
    noted = await db.outside(commits)
    assert await all_at_once(db, putting(1), putting(2), putting(3)) == [1, 2, 3]
    assert await numbers(db) == [1, 2, 3]
    assert len(noted) == 1


async def test_one_that_raises_leaves_nothing_and_the_others_stand(db: Connection) -> None:
    first, failed, last = await all_at_once(db, putting(1), puts_and_raises, putting(2))
    assert (first, last) == (1, 2)
    assert isinstance(failed, LookupError)
    assert await numbers(db) == [1, 2]
    assert not await db.outside(lambda c: c.in_transaction)


async def test_an_sqlite_error_of_one_is_its_own(db: Connection) -> None:
    first, failed, last = await all_at_once(db, putting(1), putting(1), putting(2))
    assert (first, last) == (1, 2)
    assert isinstance(failed, StoreError)
    assert await numbers(db) == [1, 2]


async def test_if_the_whole_transaction_is_gone_nobody_is_told_that_it_was_written(db: Connection) -> None:
    """As SQLite does it where the disk is full."""

    def gone(c: sqlite3.Connection) -> None:
        c.execute("ROLLBACK")
        raise sqlite3.OperationalError("database or disk is full")

    outcomes = await all_at_once(db, putting(1), gone, putting(2))
    assert all(isinstance(outcome, StoreError) for outcome in outcomes)
    assert await numbers(db) == []
    assert await db.write(putting(3)) == 1


async def test_nobody_is_told_before_the_commit(db: Connection, tmp_path: Path) -> None:
    """Whoever hears of its write finds it with a connection of its own, though others were written with it."""

    async def write_and_look(number: int) -> bool:
        await db.write(putting(number))
        with closing(sqlite3.connect(tmp_path / "x.db")) as other:
            return other.execute("SELECT 1 FROM t WHERE a = ?", (number,)).fetchone() is not None

    assert all(await asyncio.gather(*(write_and_look(number) for number in range(200))))


@pytest.mark.parametrize("durable", [[True, False, False], [False, True, False], [False, False, True]])
async def test_a_durable_write_is_committed_in_full_and_leaves_the_next_as_it_was(
    db: Connection, durable: list[bool]
) -> None:
    """2 is FULL, 1 is NORMAL; what went with a durable one is durable as well."""

    def level(c: sqlite3.Connection) -> int:
        return int(c.execute("PRAGMA synchronous").fetchone()[0])

    found = await asyncio.gather(*(db.write(level, durable=is_durable) for is_durable in durable))
    assert all(level == 2 for level, is_durable in zip(found, durable, strict=True) if is_durable)
    assert await db.outside(level) == 1
