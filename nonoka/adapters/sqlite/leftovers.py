"""Table ``leftovers``: directories that were made for sessions that are deleted."""

from __future__ import annotations

import sqlite3

from nonoka.adapters.sqlite.queries import queries
from nonoka.decisions.retention import own_directory
from nonoka.records.retention import Leftover
from nonoka.records.session import SessionIndex

_Q = queries("leftovers")


def note(db: sqlite3.Connection, index: SessionIndex, now: int) -> None:
    """The directory that was made for this session, if one was, is on record."""
    own = own_directory(index)
    if own is not None:
        db.execute(_Q["note"], own.model_dump() | {"now": now})


def free(db: sqlite3.Connection) -> list[Leftover]:
    """Those in which no session works."""
    return [Leftover(**dict(row)) for row in db.execute(_Q["free"])]


def forget(db: sqlite3.Connection, directory: str) -> None:
    """It is off the record."""
    db.execute(_Q["forget"], {"directory": directory})
