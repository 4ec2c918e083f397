"""Table ``memory_entries``: the conversation, append-only; of what was withdrawn only the position counts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from nonoka.adapters.sqlite.json_text import json_text
from nonoka.adapters.sqlite.queries import queries
from nonoka.records.memory import MemoryEntry, MemoryRole

_Q = queries("memory_entries")


def append(db: sqlite3.Connection, session_id: str, entries: Sequence[MemoryEntry]) -> None:
    """The entries are part of the conversation; a position that is taken is an error."""
    if not entries:
        return
    db.executemany(
        _Q["insert"],
        [
            {
                "session_id": session_id,
                "position": entry.position,
                "role": entry.role.value,
                "content": entry.content,
                "metadata": json_text(entry.metadata),
                "tokens": entry.tokens,
            }
            for entry in entries
        ],
    )


def withdraw(db: sqlite3.Connection, session_id: str, position: int, now: int) -> None:
    """The entries from a position on are no part of the conversation any more."""
    db.execute(_Q["withdraw"], {"session_id": session_id, "position": position, "now": now})


def from_position(db: sqlite3.Connection, session_id: str, position: int) -> list[MemoryEntry]:
    """The entries from a position on, in order."""
    rows = db.execute(_Q["from_position"], {"session_id": session_id, "position": position})
    return [_entry(row) for row in rows]


def withdrawn(db: sqlite3.Connection, session_id: str, at: int) -> list[MemoryEntry]:
    """The entries that were withdrawn at that time, in order."""
    return [_entry(row) for row in db.execute(_Q["withdrawn"], {"session_id": session_id, "at": at})]


def at_position(db: sqlite3.Connection, session_id: str, position: int) -> MemoryEntry | None:
    """The entry at a position, if the conversation has one there."""
    row = db.execute(_Q["at_position"], {"session_id": session_id, "position": position}).fetchone()
    return None if row is None else _entry(row)


def newest(db: sqlite3.Connection, session_id: str) -> tuple[int, MemoryRole | None, bool]:
    """(next free position, role of the newest entry, whether it asks for calls); no role where there is none."""
    row = db.execute(_Q["highest"], {"session_id": session_id}).fetchone()
    free = 0 if row is None else row["position"] + 1
    if row is not None and row["withdrawn_at"] is not None:
        row = db.execute(_Q["newest"], {"session_id": session_id}).fetchone()
    return (free, None, False) if row is None else (free, MemoryRole(row["role"]), bool(row["calls"]))


def positions_between(db: sqlite3.Connection, session_id: str, after: int, last: int) -> set[int]:
    """Which of the positions after+1..last hold an entry of the conversation."""
    rows = db.execute(_Q["positions_between"], {"session_id": session_id, "after": after, "last": last})
    return {row["position"] for row in rows}


def _entry(row: sqlite3.Row) -> MemoryEntry:
    metadata = json.loads(row["metadata"])
    return MemoryEntry(
        position=row["position"],
        role=MemoryRole(row["role"]),
        content=row["content"],
        metadata=metadata if isinstance(metadata, dict) else {},
        tokens=row["tokens"],
    )
