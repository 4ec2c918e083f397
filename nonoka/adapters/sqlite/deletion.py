"""Deletes a session inside the caller's transaction: the two parts of the store that do so call this."""

from __future__ import annotations

import contextlib
import sqlite3

from nonoka.adapters.sqlite import checkpoints, cli_sessions, leftovers, tasks
from nonoka.errors import UnknownSession
from nonoka.records.task import session_end


def delete(db: sqlite3.Connection, session_id: str, now: int) -> None:
    """Every row of the session is gone; the directory made for it is on record, and who waited for it hears."""
    with contextlib.suppress(UnknownSession):  # one that is in no list can be deleted as well
        leftovers.note(db, cli_sessions.get(db, session_id), now)
    checkpoints.delete(db, session_id)
    tasks.wake_for(db, session_end(session_id))
