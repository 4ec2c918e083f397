"""Table ``snapshots``: which pictures of workspaces are needed, and for what."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from nonoka.adapters.sqlite.queries import queries
from nonoka.records.workspace import SnapshotTaken

_Q = queries("snapshots")


def add(db: sqlite3.Connection, taken: Sequence[SnapshotTaken]) -> None:
    """These are on record."""
    if not taken:
        return
    db.executemany(_Q["insert"], [snapshot.model_dump() for snapshot in taken])


def of_session(db: sqlite3.Connection, session_id: str) -> list[SnapshotTaken]:
    """A session's, oldest first."""
    return [SnapshotTaken(**dict(row)) for row in db.execute(_Q["of_session"], {"session_id": session_id})]


def ids(db: sqlite3.Connection) -> set[str]:
    """Those that some session needs and that were not let go."""
    return {str(row["snapshot_id"]) for row in db.execute(_Q["ids"])}


def spare(db: sqlite3.Connection, taken_until: int, limit: int) -> list[int]:
    """The rows of ended sessions that are at rest, oldest first."""
    return [int(row["seq"]) for row in db.execute(_Q["spare"], {"taken_until": taken_until, "limit": limit})]


def let_go(db: sqlite3.Connection, rows: Sequence[int], now: int) -> None:
    """These are not needed any more; their rows stay, so that nobody takes a later one for them."""
    db.executemany(_Q["let_go"], [{"seq": seq, "now": now} for seq in rows])


def of_others_since(db: sqlite3.Connection, workspace: str, session_id: str, since: int) -> list[SnapshotTaken]:
    """Those of other sessions' calls in this workspace that were begun since then and have ended."""
    values = {"workspace": workspace, "session_id": session_id, "since": since}
    return [SnapshotTaken(**dict(row)) for row in db.execute(_Q["of_others_since"], values)]
