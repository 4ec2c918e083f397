"""What is asked of another store's file: who holds a workspace there. It is only read, through SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from nonoka.adapters.sqlite.queries import queries

#: How long a lock of the other store is waited for, in seconds.
PATIENCE_S = 2.0


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
