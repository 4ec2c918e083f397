"""Every named statement, against a migrated store."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from nonoka.adapters.sqlite.queries import TABLES, queries
from nonoka.adapters.sqlite.store import SqliteStore
from tests.support.manual_clock import ManualClock

STATEMENTS = [(table, name) for table in TABLES for name in queries(table)]


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    store = await SqliteStore.open(tmp_path / "sessions.db", ManualClock())
    await store.close()
    return tmp_path / "sessions.db"


@pytest.fixture
def db(file: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(file)
    yield connection
    connection.close()


@pytest.mark.parametrize(("table", "name"), STATEMENTS)
def test_every_named_statement_prepares(db: sqlite3.Connection, table: str, name: str) -> None:
    """SQLite compiles it with its parameters bound by name."""
    statement = queries(table)[name]
    names = set(re.findall(r":([a-z_]+)", statement))
    db.execute(f"EXPLAIN {statement}", dict.fromkeys(names, 0 if "json" not in statement else "[]"))


@pytest.mark.parametrize(
    ("table", "name", "index"),
    [
        ("tasks", "due", "tasks_ready"),
        ("tasks", "claimable", "tasks_ready"),
        ("tasks", "claimable_of_session", "tasks_live"),
        ("tasks", "running", "tasks_running"),
        ("tasks", "renew", "tasks_running"),
        ("tasks", "live_of_session", "tasks_live"),
        ("checkpoints", "taskless", "checkpoints_unended"),
        ("signals", "undrained", "signals_undrained"),
        ("cli_sessions", "newest", "cli_sessions_newest"),
        ("cli_sessions", "by_enqueue_key", "cli_sessions_enqueue_key"),
        ("tasks", "ready", "tasks_ready"),
        ("memory_entries", "from_position", "PRIMARY KEY"),
        ("memory_entries", "withdraw", "PRIMARY KEY"),
        ("tasks", "workload", "tasks_live"),
    ],
)
def test_what_runs_often_follows_an_index(db: sqlite3.Connection, table: str, name: str, index: str) -> None:
    """Its cost follows what is due, not what is stored."""
    statement = queries(table)[name]
    names = set(re.findall(r":([a-z_]+)", statement))
    plan = db.execute(f"EXPLAIN QUERY PLAN {statement}", dict.fromkeys(names, "[]")).fetchall()
    assert any(index in row[3] for row in plan), plan


@pytest.mark.parametrize("name", ["highest", "newest"])
def test_the_end_of_a_conversation_is_found_without_reading_it(db: sqlite3.Connection, name: str) -> None:
    """It is taken from the end of the primary key, and nothing is sorted."""
    statement = f"EXPLAIN QUERY PLAN {queries('memory_entries')[name]}"
    plan = [row[3] for row in db.execute(statement, {"session_id": "s"})]
    assert plan == ["SEARCH memory_entries USING PRIMARY KEY (session_id=?)"]


def test_a_list_is_read_in_the_order_of_its_index(db: sqlite3.Connection) -> None:
    """Filtered or not, a page costs what it shows: nothing is sorted, and the reading begins at its time."""
    statement = queries("cli_sessions")["newest"]
    names = set(re.findall(r":([a-z_]+)", statement))
    plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}", dict.fromkeys(names, "[]"))]
    assert plan[0] == "SEARCH s USING INDEX cli_sessions_newest (created_at>? AND created_at<?)"
    assert not any("TEMP B-TREE" in step for step in plan), plan


def test_every_table_has_one_sql_file() -> None:
    """The list of tables is the list of files."""
    folder = Path(__import__("nonoka.adapters.sqlite", fromlist=["x"]).__file__).parent / "sql"
    assert {path.stem for path in folder.glob("*.sql")} == set(TABLES)
