"""Table ``cli_sessions``: the index that people look at."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from itertools import islice

from nonoka.adapters.sqlite.queries import queries
from nonoka.errors import AmbiguousSession, KeyTaken, UnknownSession
from nonoka.records.commit import SessionLine
from nonoka.records.retention import OldSession
from nonoka.records.session import SessionIndex
from nonoka.records.session_filter import SessionFilter

_Q = queries("cli_sessions")
_END_OF_TIME = 2**63 - 1


def insert(db: sqlite3.Connection, index: SessionIndex) -> None:
    """The session can be found. Raises KeyTaken where another has its key."""
    if index.enqueue_key is not None:
        taken = db.execute(_Q["by_enqueue_key"], {"key": index.enqueue_key}).fetchone()
        if taken is not None:
            raise KeyTaken(index.enqueue_key, taken["session_id"])
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


def newest(db: sqlite3.Connection, limit: int, matching: SessionFilter) -> list[SessionLine]:
    """The newest sessions that match, with their status. Raises UnknownSession for ``matching.before``."""
    rows = db.execute(_Q["newest"], _bounds(db, matching))
    lines = (SessionLine(index=_index(row), status=row["status"]) for row in rows)
    # Searched here, for SQLite's own lower() knows ASCII only; no more is read than is wanted.
    return list(islice((line for line in lines if matching.finds(line.index)), limit))


def ended_before(db: sqlite3.Connection, before: int, limit: int, after: SessionIndex | None) -> list[OldSession]:
    """Ended sessions that were last active before then, oldest first, beginning after that one."""
    at = {"after_at": after.created_at if after else -1, "after_id": after.session_id if after else ""}
    rows = db.execute(_Q["ended_before"], {"before": before, "limit": limit, **at}).fetchall()
    return [found for row in rows if (found := old(db, row["session_id"])) is not None]


def old(db: sqlite3.Connection, session_id: str) -> OldSession | None:
    """The session as retention looks at it; None where there is none."""
    row = db.execute(_Q["old"], {"session_id": session_id}).fetchone()
    if row is None:
        return None
    return OldSession(index=_index(row), status=row["status"], busy=row["busy"], kin_at_work=row["kin_at_work"])


def known(db: sqlite3.Connection, session_ids: Iterable[str]) -> set[str]:
    """Those of these ids that are a session's."""
    rows = db.execute(_Q["known"], {"ids_json": json.dumps(list(session_ids))})
    return {str(row["session_id"]) for row in rows}


def _bounds(db: sqlite3.Connection, matching: SessionFilter) -> dict[str, int | str]:
    before = get(db, matching.before) if matching.before is not None else None
    return {
        "since": matching.created_since,
        "until": before.created_at if before else _END_OF_TIME,
        "after_id": before.session_id if before else "",
        "statuses_json": json.dumps(matching.statuses),
        "below": matching.below.rstrip("/") + "/" if matching.below else "",
    }


def _index(row: sqlite3.Row) -> SessionIndex:
    fields = {name: row[name] for name in SessionIndex.model_fields}
    return SessionIndex.model_validate(fields | {"metadata": json.loads(row["metadata"])})
