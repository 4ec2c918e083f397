"""A store's file becomes smaller bit by bit, if it was made for that."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nonoka.adapters.sqlite.store import SqliteStore
from tests.support.manual_clock import ManualClock
from tests.support.sessions import created


async def emptied(file: Path) -> SqliteStore:
    """A store that holds nothing any more of what it held."""
    clock = ManualClock()
    store = await SqliteStore.open(file, clock)
    for session_id in [await created(store, clock, "word " * 40_000) for _ in range(5)]:
        await store.delete_session(session_id)
    return store


async def test_what_is_free_is_given_back_a_bounded_part_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "sessions.db"
    store = await emptied(file)
    free = await store.free_bytes()
    assert free > 900_000
    assert 0 < await store.give_back(most_bytes=100_000) <= 100_000
    assert free - 100_000 <= await store.free_bytes() < free
    while await store.give_back(most_bytes=100_000):
        pass
    assert await store.free_bytes() == 0
    assert await store.give_back(most_bytes=100_000) == 0
    await store.close()
    assert file.stat().st_size < free


async def test_a_file_that_was_not_made_for_it_keeps_its_pages_until_it_is_turned_into_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the line that docs/operations.md has for it."""
    file = tmp_path / "sessions.db"
    monkeypatch.setattr("nonoka.adapters.sqlite.free_pages.prepare", lambda db: None)
    older = await emptied(file)
    assert await older.free_bytes() == 0
    assert await older.give_back(most_bytes=100_000) == 0
    await older.close()
    text = (Path(__file__).parents[4] / "docs" / "operations.md").read_text("utf-8")
    assert "PRAGMA auto_vacuum=INCREMENTAL; VACUUM" in text
    with closing(sqlite3.connect(file)) as db:
        db.executescript("PRAGMA auto_vacuum=INCREMENTAL; VACUUM")
    store = await emptied(file)
    assert await store.free_bytes() > 900_000
    await store.close()
