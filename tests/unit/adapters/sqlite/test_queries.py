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


#: Statements over tables of a few rows, processes and who has what now; and what a collection asks for.
SHORT_TABLES = {
    "workers": {"all", "sharing"},
    "workspace_locks": {"held", "abandoned", "free", "holders"},
    "snapshots": {"ids"},
}


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
        ("tasks", "workload", "tasks_live"),
        ("tasks", "others_due", "tasks_ready"),
        ("tasks", "claimable_by_id", "sqlite_autoindex_tasks_1"),
        ("tasks", "held", "sqlite_autoindex_tasks_1"),
        ("tasks", "make_due", "tasks_live"),
        ("tasks", "close_others", "tasks_live"),
        ("tasks", "owned_count", "tasks_running"),
        ("checkpoints", "count", "checkpoints_status"),
        ("checkpoints", "get", "sqlite_autoindex_checkpoints_1"),
        ("signals", "undrained_of_worker", "tasks_running"),
        ("cli_sessions", "by_prefix", "sqlite_autoindex_cli_sessions_1"),
        ("memory_entries", "withdraw", "sqlite_autoindex_memory_entries_1"),
        ("memory_entries", "from_position", "sqlite_autoindex_memory_entries_1"),
        ("memory_entries", "positions_between", "sqlite_autoindex_memory_entries_1"),
        ("events", "last_seq", "sqlite_autoindex_events_1"),
        ("events", "after", "sqlite_autoindex_events_1"),
        ("step_updates", "statuses_of_turn", "sqlite_autoindex_step_updates_1"),
        ("cli_sessions", "ended_before", "cli_sessions_newest"),
        ("cli_sessions", "old", "cli_sessions_parent"),
        ("leftovers", "free", "cli_sessions_working_dir"),
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
    assert plan == ["SEARCH memory_entries USING INDEX sqlite_autoindex_memory_entries_1 (session_id=?)"]


@pytest.mark.parametrize("table", TABLES)
def test_nothing_but_what_is_meant_to_reads_a_table_whole(db: sqlite3.Connection, table: str) -> None:
    """What turns, sweeps, claims and lists ask is searched for: a full store costs them what an empty one does."""
    scans = set()
    for name, statement in queries(table).items():
        names = set(re.findall(r":([a-z_]+)", statement))
        plan = db.execute(f"EXPLAIN QUERY PLAN {statement}", dict.fromkeys(names, "[]")).fetchall()
        if any(re.match(r"SCAN (?!json_each|CONSTANT)", row[3]) and " INDEX " not in row[3] for row in plan):
            scans.add(name)
    assert scans <= SHORT_TABLES.get(table, set())


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
