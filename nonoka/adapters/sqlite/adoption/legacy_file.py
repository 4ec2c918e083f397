"""A file of nonoka 1.3.8 as it is: how it is told, how it is set aside, what is in it. No version is in it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

#: Its tables; the last three may be missing, for other parts of it make them.
TABLES = ("checkpoints", "step_updates", "memory_entries", "cli_sessions")
_CHECKPOINT_COLUMNS = {"session_id", "state_json", "created_at", "updated_at"}


@dataclass(frozen=True, slots=True)
class LegacySession:
    """One session as it was written.

    ``index`` is its row in the command line's list, if it has one. ``remembered`` are (content, metadata) of
    what was noted as it came: where a process was killed that is ahead of the checkpoint, and without roles.
    """

    session_id: str
    state: dict[str, Any]
    created_at: str
    updated_at: str
    index: dict[str, Any] | None
    remembered: tuple[tuple[str, dict[str, Any]], ...]
    step_updates: tuple[tuple[str, str, dict[str, Any]], ...]


def is_legacy(db: sqlite3.Connection) -> bool:
    """Whether nonoka 1.3.8 wrote this file."""
    return _columns(db, "checkpoints") == _CHECKPOINT_COLUMNS


def set_aside(db: sqlite3.Connection) -> None:
    """Its tables are ``legacy_*``; nothing of them is lost."""
    for table in TABLES:
        if _columns(db, table):
            db.execute(f"ALTER TABLE {table} RENAME TO legacy_{table}")


def sessions(db: sqlite3.Connection) -> Iterator[LegacySession]:
    """What was set aside, oldest first."""
    indexes = {row["session_id"]: dict(row) for row in _rows(db, "cli_sessions", "session_id")}
    for row in db.execute("SELECT * FROM legacy_checkpoints ORDER BY created_at, session_id").fetchall():
        session_id = row["session_id"]
        yield LegacySession(
            session_id=session_id,
            state=_object(row["state_json"]),
            created_at=str(row["created_at"]),
            updated_at=str(row["updated_at"]),
            index=indexes.get(session_id),
            remembered=tuple(
                (str(found["content"]), _object(found["metadata_json"]))
                for found in _rows(db, "memory_entries", "id", session_id)
            ),
            step_updates=tuple(
                (str(found["step_id"]), str(found["update_type"]), _object(found["payload_json"]))
                for found in _rows(db, "step_updates", "updated_at, rowid", session_id)
            ),
        )


def _rows(db: sqlite3.Connection, table: str, order: str, session_id: str | None = None) -> list[sqlite3.Row]:
    if not _columns(db, f"legacy_{table}"):
        return []
    where = "" if session_id is None else " WHERE session_id = :session_id"
    return db.execute(
        f"SELECT * FROM legacy_{table}{where} ORDER BY {order}", {"session_id": session_id}
    ).fetchall()


def _columns(db: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in db.execute(f"PRAGMA table_info({table})")}


def _object(text: object) -> dict[str, Any]:
    try:
        found = json.loads(str(text))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
