"""Table ``workers``: who lives."""

from __future__ import annotations

import sqlite3

from nonoka.adapters.sqlite.queries import queries
from nonoka.records.task import Worker

_Q = queries("workers")


def insert(db: sqlite3.Connection, worker: Worker) -> None:
    """The worker is known."""
    db.execute(_Q["insert"], worker.model_dump())


def seen(db: sqlite3.Connection, worker_id: str, now: int) -> None:
    """The worker was there at that time."""
    db.execute(_Q["seen"], {"worker_id": worker_id, "now": now})


def delete(db: sqlite3.Connection, worker_id: str) -> None:
    """The worker is not known any more."""
    db.execute(_Q["delete"], {"worker_id": worker_id})


def sharing(db: sqlite3.Connection) -> int:
    """How many workers share the tasks; one at least."""
    return max(1, int(db.execute(_Q["sharing"]).fetchone()["number"]))


def every(db: sqlite3.Connection) -> list[Worker]:
    """All rows."""
    return [Worker.model_validate(dict(row)) for row in db.execute(_Q["all"])]
