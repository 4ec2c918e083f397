"""What a store does when SQLite can't."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from nonoka.adapters.sqlite.faults import store_error
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.errors import StoreDamaged, StoreError, StoreFull
from tests.support.manual_clock import ManualClock
from tests.support.sessions import created

MEANINGS = [
    (sqlite3.SQLITE_FULL, StoreFull, "see that its disk has room"),
    (sqlite3.SQLITE_IOERR_WRITE, StoreFull, "see that its disk has room"),
    (sqlite3.SQLITE_IOERR_LOCK, StoreError, "locks don't work on its file system: name another file with --db"),
    (sqlite3.SQLITE_PROTOCOL, StoreError, "locks don't work on its file system"),
    (sqlite3.SQLITE_CORRUPT_INDEX, StoreDamaged, "nonoka doctor --check-store"),
    (sqlite3.SQLITE_NOTADB, StoreDamaged, "name another file with --db"),
    (sqlite3.SQLITE_READONLY_DBMOVED, StoreError, "writable by this user"),
    (sqlite3.SQLITE_CANTOPEN, StoreError, "writable by this user"),
]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(tmp_path: Path, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "sessions.db", clock)
    yield opened
    await opened.close()


@pytest.mark.parametrize(("code", "kind", "remedy"), MEANINGS)
def test_each_error_names_the_file_and_says_what_to_do(code: int, kind: type[StoreError], remedy: str) -> None:
    error = sqlite3.OperationalError("it went wrong")
    error.sqlite_errorcode, error.sqlite_errorname = code, "SQLITE_SOMETHING"
    told = store_error(error, Path("/srv/sessions.db"))
    assert type(told) is kind
    assert "/srv/sessions.db could not do it: it went wrong (SQLITE_SOMETHING)" in str(told)
    assert remedy in str(told)


async def test_a_full_disk_writes_nothing_and_has_room_again_without_opening_the_store_anew(
    store: SqliteStore, clock: ManualClock
) -> None:
    """What was half written is undone."""
    first = await created(store, clock)
    pages = await store._writer.outside(lambda db: int(db.execute("PRAGMA page_count").fetchone()[0]))
    await store._writer.outside(lambda db: db.execute(f"PRAGMA max_page_count = {pages}").fetchone())
    with pytest.raises(StoreFull, match="see that its disk has room"):
        await created(store, clock, "x" * 50_000)
    assert [line.index.session_id for line in await store.list_sessions(limit=10)] == [first]
    await store._writer.outside(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchone())
    second = await created(store, clock, "x" * 50_000)
    assert {line.index.session_id for line in await store.list_sessions(limit=10)} == {first, second}


@pytest.mark.parametrize("cut", [100, 4096, 20_000])
async def test_a_truncated_file_is_told_by_name_and_left_as_it_is(
    tmp_path: Path, clock: ManualClock, cut: int
) -> None:
    file = tmp_path / "cut.db"
    store = await SqliteStore.open(file, clock)
    await created(store, clock, "x" * 50_000)
    await store.close()
    before = shortened(file, cut)
    with pytest.raises(StoreError, match=r"cut\.db could not do it: .*; "):
        await created(await SqliteStore.open(file, clock), clock)
    assert before == contents(file)[: len(before)]


def shortened(file: Path, size: int) -> bytes:
    file.write_bytes(file.read_bytes()[:size])
    return file.read_bytes()


def contents(file: Path) -> bytes:
    with closing(file.open("rb")) as opened:
        return opened.read()
