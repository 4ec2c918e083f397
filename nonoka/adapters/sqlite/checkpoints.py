"""Table ``checkpoints``: a session's state without conversation and step rows."""

from __future__ import annotations

import json
import sqlite3

from nonoka.adapters.sqlite.queries import queries
from nonoka.errors import StoreTooNew, UnknownSession
from nonoka.records.session import SCHEMA_VERSION, SessionState

_Q = queries("checkpoints")
_KEPT_ELSEWHERE = {"memory_entries", "step_statuses", "completed_steps", "failed_steps"}


def insert(db: sqlite3.Connection, state: SessionState) -> None:
    """The session has its first checkpoint."""
    db.execute(_Q["insert"], _row(state))


def update(db: sqlite3.Connection, state: SessionState) -> int:
    """The session has a new checkpoint, its version one higher; returns that."""
    return int(db.execute(_Q["update"], _row(state)).fetchone()["version"])


def touch(db: sqlite3.Connection, session_id: str) -> int:
    """The session's version is one higher, for what changed beside its state; returns it."""
    return int(db.execute(_Q["touch"], {"session_id": session_id}).fetchone()["version"])


def get(db: sqlite3.Connection, session_id: str) -> SessionState:
    """The state as of the last checkpoint. Raises UnknownSession, StoreTooNew."""
    row = db.execute(_Q["get"], {"session_id": session_id}).fetchone()
    if row is None:
        raise UnknownSession(session_id)
    text = row["state_json"]
    try:
        return SessionState.model_validate_json(text)
    except ValueError:
        version = json.loads(text).get("schema_version")
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise StoreTooNew(
                f"session {session_id!r} has state version {version}, this nonoka knows up to "
                f"{SCHEMA_VERSION}: upgrade it"
            ) from None
        raise


def status(db: sqlite3.Connection, session_id: str) -> str:
    """The session's status. Raises UnknownSession."""
    row = db.execute(_Q["status"], {"session_id": session_id}).fetchone()
    if row is None:
        raise UnknownSession(session_id)
    return str(row["status"])


def exists(db: sqlite3.Connection, session_id: str) -> bool:
    """Whether there is such a session; it may have been deleted."""
    return db.execute(_Q["status"], {"session_id": session_id}).fetchone() is not None


def delete(db: sqlite3.Connection, session_id: str) -> None:
    """The session is gone: every other table lets go of what refers to it."""
    db.execute(_Q["delete"], {"session_id": session_id})


def count(db: sqlite3.Connection) -> dict[str, int]:
    """How many sessions have each status."""
    return {row["status"]: row["number"] for row in db.execute(_Q["count"])}


def taskless(db: sqlite3.Connection) -> list[str]:
    """The sessions that are created or running and have no live task: breaches of invariant 3."""
    return [row["session_id"] for row in db.execute(_Q["taskless"])]


def _row(state: SessionState) -> dict[str, str]:
    return {
        "session_id": state.session_id,
        "status": state.status.value,
        "state_json": state.model_dump_json(exclude=_KEPT_ELSEWHERE),
    }
