"""Looking at a store's file from outside: nothing of it changes."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from nonoka.adapters.sqlite import schema
from nonoka.adapters.sqlite.condition import condition
from nonoka.adapters.sqlite.store import SqliteStore
from tests.support.manual_clock import ManualClock


async def a_store(file: Path) -> Path:
    await (await SqliteStore.open(file, ManualClock())).close()
    return file


async def test_a_store_is_described_as_it_is(tmp_path: Path) -> None:
    found = condition(await a_store(tmp_path / ".nonoka" / "sessions.db"))
    assert (found.exists, found.trouble, found.others_may) == (True, None, False)
    assert found.schema_version == found.known_schema == schema.newest_version()
    assert found.size_bytes > 0


def test_to_look_for_a_store_makes_none(tmp_path: Path) -> None:
    found = condition(tmp_path / "a" / "b" / "s.db")
    assert (found.exists, found.trouble, found.schema_version) == (False, None, None)
    assert list(tmp_path.iterdir()) == []


async def test_an_older_store_is_not_migrated_and_a_newer_one_told(tmp_path: Path) -> None:
    file = await a_store(tmp_path / "s.db")
    for version in (1, 99):
        with closing(sqlite3.connect(file)) as db:
            db.execute(f"PRAGMA user_version = {version}")
        found = condition(file)
        with closing(sqlite3.connect(file)) as db:
            assert schema.version_of(db) == version
        assert found.schema_version == (version if version == 1 else None)
        assert ("upgrade it" in (found.trouble or "")) == (version == 99)


def test_what_is_no_store_says_so(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is no database, by any means\n" * 100)
    for place, said in (
        (tmp_path, "is a directory"),
        (tmp_path / "text", "not a database"),
        (tmp_path / "text" / "s.db", "is no directory"),
    ):
        trouble = condition(place).trouble
        assert trouble is not None
        assert said in trouble
        assert "; name " in trouble


def test_a_file_that_others_can_read_is_told(tmp_path: Path) -> None:
    file = asyncio.run(a_store(tmp_path / "s.db"))
    tmp_path.chmod(0o755)
    assert not condition(file).others_may
    file.chmod(0o644)
    assert condition(file).others_may
    tmp_path.chmod(0o700)
    assert not condition(file).others_may
