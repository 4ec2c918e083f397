"""Migrations, and stores of other versions."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nonoka.adapters.sqlite import schema
from nonoka.adapters.sqlite.connection import Connection
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.errors import StoreError, StoreTooNew
from tests.support.manual_clock import ManualClock
from tests.support.sessions import new_session


def _empty(file: Path) -> Path:
    file.touch()
    return file


def set_version(file: Path, version: int) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute(f"PRAGMA user_version = {version}")


async def test_each_migration_is_recorded_with_its_number(tmp_path: Path) -> None:
    """The record is in the transaction of the migration."""
    store = await SqliteStore.open(tmp_path / "s.db", ManualClock())
    await store.close()
    with closing(sqlite3.connect(tmp_path / "s.db")) as db:
        applied = [row[0] for row in db.execute("SELECT number FROM migrations ORDER BY number")]
        assert applied == [number for number, _, _ in schema.migrations()]
        assert schema.version_of(db) == schema.newest_version()


async def test_a_newer_store_is_refused_by_name_and_not_touched(tmp_path: Path) -> None:
    """The message names the file and says what to do."""
    file = tmp_path / "s.db"
    await (await SqliteStore.open(file, ManualClock())).close()
    set_version(file, 99)
    before = file.read_bytes()
    with pytest.raises(StoreTooNew, match=r"s\.db.*schema 99.*--db"):
        await SqliteStore.open(file, ManualClock())
    assert file.read_bytes() == before


async def test_a_running_worker_stops_on_a_store_that_was_migrated_by_a_newer_one(tmp_path: Path) -> None:
    """Its next heartbeat says so."""
    store = await SqliteStore.open(tmp_path / "s.db", ManualClock())
    set_version(tmp_path / "s.db", 99)
    with pytest.raises(StoreTooNew):
        await store.renew("w")
    await store.close()


async def test_many_openers_of_a_new_store_migrate_it_once(tmp_path: Path) -> None:
    """Eight at once: all succeed, the migration is recorded once."""
    file = tmp_path / "s.db"
    stores = await asyncio.gather(*(SqliteStore.open(file, ManualClock()) for _ in range(8)))
    for store in stores:
        await store.close()
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT COUNT(*) FROM migrations").fetchone() == (len(schema.migrations()),)


async def test_a_store_of_the_first_schema_is_migrated_and_keeps_its_rows(tmp_path: Path) -> None:
    """As nonoka left it when there was but one migration."""
    file, clock = tmp_path / "s.db", ManualClock()
    connection = await Connection.opened(_empty(file))
    number, name, text = schema.migrations()[0]
    await connection.outside(lambda db: db.execute("PRAGMA journal_mode = WAL").fetchone())
    await connection.write(lambda db: schema.apply(db, number=number, name=name, text=text, now_ms=1))
    await connection.close()
    with closing(sqlite3.connect(file)) as db, db:
        assert schema.version_of(db) == 1
        state = new_session(clock, session_id="s-1").state.model_dump_json()
        db.execute("INSERT INTO checkpoints VALUES ('s-1', 'created', 1, ?)", (state,))
        db.execute(
            "INSERT INTO cli_sessions"
            " (session_id, kind, title, working_dir, agent, model, created_at, last_active)"
            " VALUES ('s-1', 'react', 'as it was', '/w', 'default', 'script:x', 1, 1)"
        )

    store = await SqliteStore.open(file, clock)

    try:
        assert (await store.find_session("s-1")).title == "as it was"
        keyed = new_session(clock)
        index = keyed.index.model_copy(update={"metadata": {"enqueue_key": "k"}})
        await store.create_session(keyed.model_copy(update={"index": index}))
    finally:
        await store.close()
    with closing(sqlite3.connect(file)) as db, pytest.raises(sqlite3.IntegrityError):
        db.execute('UPDATE cli_sessions SET metadata = \'{"enqueue_key": "k"}\'')


async def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    """And it is left as it is."""
    file = tmp_path / "s.db"
    file.write_bytes(b"not a database, but long enough to have a header of some kind" * 20)
    with pytest.raises(StoreError, match="not a database"):
        await SqliteStore.open(file, ManualClock())
    assert file.read_bytes().startswith(b"not a database")


async def test_the_store_is_private_to_its_owner(tmp_path: Path) -> None:
    """The directory is 0700 and ignored by git, the file 0600."""
    file = tmp_path / ".nonoka" / "sessions.db"
    await (await SqliteStore.open(file, ManualClock())).close()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert (file.parent / ".gitignore").read_text() == "*\n"


async def test_a_row_that_breaks_a_rule_of_states_is_refused_by_the_schema(tmp_path: Path) -> None:
    """CHECKs repeat what the code holds: a running task has an owner."""
    store = await SqliteStore.open(tmp_path / "s.db", ManualClock())
    await store.close()
    with closing(sqlite3.connect(tmp_path / "s.db")) as db, pytest.raises(sqlite3.IntegrityError):
        db.execute(
            "INSERT INTO tasks (task_id, session_id, kind, key, status)"
            " VALUES ('t', 's', 'turn', 'turn:1', 'running')"
        )
