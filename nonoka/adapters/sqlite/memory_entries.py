"""Table ``memory_entries``: the conversation, append-only."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from nonoka.adapters.sqlite.queries import queries
from nonoka.records.memory import MemoryEntry, MemoryRole

_Q = queries("memory_entries")


def append(db: sqlite3.Connection, session_id: str, entries: Iterable[MemoryEntry]) -> None:
    """The entries are part of the conversation; a position that is taken is an error."""
    db.executemany(
        _Q["insert"],
        [
            {
                "session_id": session_id,
                "position": entry.position,
                "role": entry.role.value,
                "content": entry.content,
                "metadata": json.dumps(entry.metadata, ensure_ascii=False),
                "tokens": entry.tokens,
            }
            for entry in entries
        ],
    )


def from_position(db: sqlite3.Connection, session_id: str, position: int) -> list[MemoryEntry]:
    """The entries from a position on, in order."""
    rows = db.execute(_Q["from_position"], {"session_id": session_id, "position": position})
    return [_entry(row) for row in rows]


def at_position(db: sqlite3.Connection, session_id: str, position: int) -> MemoryEntry:
    """The entry at a position that is known to be taken."""
    row = db.execute(_Q["at_position"], {"session_id": session_id, "position": position}).fetchone()
    return _entry(row)


def newest(db: sqlite3.Connection, session_id: str) -> tuple[int, MemoryRole, bool] | None:
    """(position, role, whether it asks for calls) of the newest entry."""
    row = db.execute(_Q["newest"], {"session_id": session_id}).fetchone()
    return None if row is None else (row["position"], MemoryRole(row["role"]), bool(row["calls"]))


def positions_between(db: sqlite3.Connection, session_id: str, after: int, last: int) -> set[int]:
    """Which of the positions after+1..last are taken."""
    rows = db.execute(_Q["positions_between"], {"session_id": session_id, "after": after, "last": last})
    return {row["position"] for row in rows}


def _entry(row: sqlite3.Row) -> MemoryEntry:
    return MemoryEntry(
        position=row["position"],
        role=MemoryRole(row["role"]),
        content=row["content"],
        metadata=json.loads(row["metadata"]),
        tokens=row["tokens"],
    )
