"""Table ``cli_sessions``: the index that people look at."""

from __future__ import annotations

import json
import sqlite3

from nonoka.adapters.sqlite.queries import queries
from nonoka.errors import AmbiguousSession, UnknownSession
from nonoka.records.commit import SessionLine
from nonoka.records.session import SessionIndex

_Q = queries("cli_sessions")


def insert(db: sqlite3.Connection, index: SessionIndex) -> None:
    """The session can be found."""
    db.execute(_Q["insert"], index.model_dump() | {"metadata": json.dumps(index.metadata)})


def touch(db: sqlite3.Connection, session_id: str, now: int) -> None:
    """The session was active now."""
    db.execute(_Q["touch"], {"session_id": session_id, "now": now})


def get(db: sqlite3.Connection, session_id: str) -> SessionIndex:
    """The session's row. Raises UnknownSession."""
    row = db.execute(_Q["get"], {"session_id": session_id}).fetchone()
    if row is None:
        raise UnknownSession(session_id)
    return _index(row)


def by_prefix(db: sqlite3.Connection, prefix: str) -> SessionIndex:
    """The one session whose id begins so. Raises UnknownSession, AmbiguousSession."""
    if not prefix:
        raise UnknownSession(prefix)
    bounds = {"prefix": prefix, "prefix_end": prefix + "\U0010ffff"}
    found = [_index(row) for row in db.execute(_Q["by_prefix"], bounds)]
    if not found:
        raise UnknownSession(prefix)
    if len(found) > 1 and found[0].session_id != prefix:
        raise AmbiguousSession(prefix, [index.session_id for index in found])
    return found[0]


def newest(db: sqlite3.Connection, limit: int) -> list[SessionLine]:
    """The newest sessions with their status."""
    return [
        SessionLine(index=_index(row), status=row["status"]) for row in db.execute(_Q["newest"], {"limit": limit})
    ]


def _index(row: sqlite3.Row) -> SessionIndex:
    fields = {name: row[name] for name in SessionIndex.model_fields}
    return SessionIndex.model_validate(fields | {"metadata": json.loads(row["metadata"])})
