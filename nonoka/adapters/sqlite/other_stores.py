"""What is asked of other stores' files: who holds a workspace there, whose sessions they are.

They are only read, and only through SQLite.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from nonoka.adapters.sqlite.queries import queries
from nonoka.errors import StoreError

#: How long a lock of the other store is waited for, in seconds.
PATIENCE_S = 2.0
_NO_STORES = ("-wal", "-shm", "-journal", ".gitignore")


def holds_workspace(db: Path, session_id: str) -> bool:
    """Whether a task of that session may change its workspace now, by the store in this file.

    A file that can't be asked for a moment counts as holding it; one that is no store of ours does not.
    """
    try:
        with closing(sqlite3.connect(f"{db.as_uri()}?mode=ro", uri=True, timeout=PATIENCE_S)) as connection:
            found = connection.execute(queries("workspace_locks")["held"], {"session_id": session_id}).fetchone()
    except sqlite3.OperationalError as error:
        return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    except sqlite3.DatabaseError:
        return False
    return found is not None


def sessions_beside(db: Path) -> frozenset[str]:
    """The sessions of all other stores in the directory of this one, which share its snapshots and artifacts.

    A copy of a store is one as well. Raises StoreError, naming it, for a store that can't be read now.
    """
    found: set[str] = set()
    for file in sorted(db.parent.iterdir()):
        beside = file.name.endswith(_NO_STORES)
        # What another user alone can read shares nothing with this one.
        if file.is_file() and not beside and os.access(file, os.R_OK) and not (db.exists() and file.samefile(db)):
            found |= _sessions_of(file)
    return frozenset(found)


def _sessions_of(file: Path) -> set[str]:
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=PATIENCE_S)) as db:
            return {str(row[0]) for row in db.execute("SELECT session_id FROM checkpoints")}
    except sqlite3.DatabaseError as error:
        code = error.sqlite_errorcode & 0xFF
        if code == sqlite3.SQLITE_NOTADB or (code == sqlite3.SQLITE_ERROR and "no such" in str(error)):
            return set()
        raise StoreError(
            f"{file} may be a store whose artifacts and snapshots lie here too, and can't be read: {error}; "
            "move it elsewhere if it is none"
        ) from error
