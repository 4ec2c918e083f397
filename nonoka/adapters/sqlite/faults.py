"""What SQLite's errors mean for a store, each with what to do about it. The connection calls this."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from nonoka.errors import StoreDamaged, StoreError, StoreFull

_OTHER = "name another file with --db (or NONOKA_DB)"
_DAMAGED = (
    "nonoka doctor --check-store says what is damaged; to put a copy made by nonoka backup in its place see "
    "docs/operations.md"
)
#: IOERR_LOCK, IOERR_UNLOCK, IOERR_RDLOCK, IOERR_CHECKRESERVEDLOCK, IOERR_SHMLOCK: locking itself fails
_LOCKING = {3850, 2058, 2314, 3594, 5130}


def store_error(error: sqlite3.Error, path: Path) -> StoreError:
    """The error to raise, with its remedy."""
    code, name = getattr(error, "sqlite_errorcode", 0), getattr(error, "sqlite_errorname", type(error).__name__)
    told = f"the store {path} could not do it: {error} ({name})"
    if code in _LOCKING or code & 0xFF == sqlite3.SQLITE_PROTOCOL:
        return StoreError(f"{told}; locks don't work on its file system: {_OTHER}")
    match code & 0xFF:
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return StoreFull(f"{told}; nothing was written: see that its disk has room and works, then try again")
        case sqlite3.SQLITE_CORRUPT:
            return StoreDamaged(f"{told}; {_DAMAGED}")
        case sqlite3.SQLITE_NOTADB:
            return StoreDamaged(f"{told}; {_OTHER}")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return StoreError(f"{told}; make it and what lies beside it writable by this user, or {_OTHER}")
    return StoreError(told)
