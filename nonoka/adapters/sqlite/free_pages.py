"""Pages of the store's file that nothing is in any more, and how they go back to the file system."""

from __future__ import annotations

import sqlite3

_INCREMENTAL = 2


def prepare(db: sqlite3.Connection) -> None:
    """A file that is made now can be made smaller bit by bit; one that has a table already stays as it is."""
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")


def bytes_free(db: sqlite3.Connection) -> int:
    """How much of the file can be given back. Of one that was made without ``prepare``: nothing."""
    if _number(db, "auto_vacuum") != _INCREMENTAL:
        return 0
    return _number(db, "freelist_count") * _number(db, "page_size")


def give_back(db: sqlite3.Connection, most_bytes: int) -> int:
    """At most so much, and at least a page, is given back in the caller's transaction; returns how much was."""
    before = bytes_free(db)
    pages = max(1, most_bytes // _number(db, "page_size"))
    db.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()  # it works as long as it is read from
    return before - bytes_free(db)


def _number(db: sqlite3.Connection, pragma: str) -> int:
    return int(db.execute(f"PRAGMA {pragma}").fetchone()[0])
