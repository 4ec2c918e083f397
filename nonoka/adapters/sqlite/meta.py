"""Table ``meta``: the store's id and its workers' broker."""

from __future__ import annotations

import sqlite3

from nonoka.adapters.sqlite.queries import queries

_Q = queries("meta")


def ensure(db: sqlite3.Connection, key: str, value: str) -> str:
    """The key has a value, this one if it had none; returns it."""
    db.execute(_Q["put_if_absent"], {"key": key, "value": value})
    return str(db.execute(_Q["get"], {"key": key}).fetchone()["value"])


def agree(db: sqlite3.Connection, key: str, value: str, instead_of: str | None) -> str:
    """The key has this value if it had none, or ``instead_of``; returns the one it has."""
    db.execute(_Q["replace"], {"key": key, "value": value, "instead_of": instead_of})
    return ensure(db, key, value)
