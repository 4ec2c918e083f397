"""Table ``meta``: the store's id."""

from __future__ import annotations

import sqlite3

from nonoka.adapters.sqlite.queries import queries

_Q = queries("meta")


def ensure(db: sqlite3.Connection, key: str, value: str) -> str:
    """The key has a value, this one if it had none; returns it."""
    db.execute(_Q["put_if_absent"], {"key": key, "value": value})
    return str(db.execute(_Q["get"], {"key": key}).fetchone()["value"])
