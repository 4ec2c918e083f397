"""Stores that lie in one directory: whose sessions their artifacts and snapshots may be of."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nonoka.adapters.sqlite.other_stores import sessions_beside
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.errors import StoreError
from tests.support.manual_clock import ManualClock
from tests.support.sessions import created


@pytest.fixture
async def ours(tmp_path: Path) -> Path:
    """A store with a session."""
    file = tmp_path / "sessions.db"
    store = await SqliteStore.open(file, ManualClock())
    await created(store, ManualClock(), session_id="ours")
    await store.close()
    return file


async def test_the_sessions_of_every_other_store_are_known_and_not_our_own(ours: Path) -> None:
    """Whatever their files are called; a copy of our own store is one of them."""
    assert sessions_beside(ours) == frozenset()
    other = await SqliteStore.open(ours.with_name("another"), ManualClock())
    await created(other, ManualClock(), session_id="theirs")
    assert sessions_beside(ours) == {"theirs"}, "while it is open"
    await other.close()
    assert sessions_beside(ours) == {"theirs"}
    shutil.copy(ours, ours.with_name("copy.db"))
    assert sessions_beside(ours) == {"ours", "theirs"}


def test_what_is_no_store_is_none(ours: Path) -> None:
    ours.with_name("notes.txt").write_text("hello " * 1_000)
    ours.with_name("empty").touch()
    ours.with_name("directory").mkdir()
    with closing(sqlite3.connect(ours.with_name("foreign.db"))) as db:
        db.execute("CREATE TABLE things (name TEXT)")
    assert sessions_beside(ours) == frozenset()


def test_a_store_that_can_t_be_read_is_named(ours: Path) -> None:
    """Nobody knows then what may go."""
    damaged = ours.with_name("damaged.db")
    damaged.write_bytes(ours.read_bytes()[:4096] + b"\xff" * 100_000)
    with pytest.raises(StoreError, match=r"damaged\.db"):
        sessions_beside(ours)
