"""Table ``meta``: the store's id, its workers' broker, when the next collection is due."""

from __future__ import annotations

import sqlite3

from nonoka.adapters.sqlite.queries import queries

_Q = queries("meta")


def ensure(db: sqlite3.Connection, key: str, value: str) -> str:
    """The key has a value, this one if it had none; returns it."""
    db.execute(_Q["put_if_absent"], {"key": key, "value": value})
    return str(db.execute(_Q["get"], {"key": key}).fetchone()["value"])


def get(db: sqlite3.Connection, key: str) -> str | None:
    """The key's value, None if it has none."""
    row = db.execute(_Q["get"], {"key": key}).fetchone()
    return None if row is None else str(row["value"])


def put(db: sqlite3.Connection, key: str, value: str) -> None:
    """The key has this value."""
    db.execute(_Q["put"], {"key": key, "value": value})


def agree(db: sqlite3.Connection, key: str, value: str, instead_of: str | None) -> str:
    """The key has this value if it had none, or ``instead_of``; returns the one it has."""
    db.execute(_Q["replace"], {"key": key, "value": value, "instead_of": instead_of})
    return ensure(db, key, value)
