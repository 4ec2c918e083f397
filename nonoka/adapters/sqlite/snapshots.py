"""Table ``snapshots``: which pictures of workspaces are needed, and for what."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from nonoka.adapters.sqlite.queries import queries
from nonoka.records.workspace import SnapshotTaken

_Q = queries("snapshots")


def add(db: sqlite3.Connection, taken: Iterable[SnapshotTaken]) -> None:
    """These are on record."""
    db.executemany(_Q["insert"], [snapshot.model_dump() for snapshot in taken])


def of_session(db: sqlite3.Connection, session_id: str) -> list[SnapshotTaken]:
    """A session's, oldest first."""
    return [SnapshotTaken(**dict(row)) for row in db.execute(_Q["of_session"], {"session_id": session_id})]


def ids(db: sqlite3.Connection) -> set[str]:
    """Those that some session needs."""
    return {str(row["snapshot_id"]) for row in db.execute(_Q["ids"])}


def of_others_since(db: sqlite3.Connection, workspace: str, session_id: str, since: int) -> list[SnapshotTaken]:
    """Those of other sessions' calls in this workspace that were begun since then and have ended."""
    values = {"workspace": workspace, "session_id": session_id, "since": since}
    return [SnapshotTaken(**dict(row)) for row in db.execute(_Q["of_others_since"], values)]
