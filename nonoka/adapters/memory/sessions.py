"""The part of the store that makes sessions and signals them."""

from __future__ import annotations

from nonoka.adapters.memory.inbox import add_signal
from nonoka.adapters.memory.tables import Tables
from nonoka.adapters.memory.writes import claim_task, make_session, wake_for
from nonoka.errors import KeyTaken, StoreError
from nonoka.ports.store import Decide
from nonoka.records.commit import Changes, Committed, NewSession, NewSignal
from nonoka.records.session import SessionIndex
from nonoka.records.task import TaskStatus, session_end


class MemorySessions:
    """``ports.store.SessionStore`` in memory."""

    _tables: Tables

    async def create_session(
        self, new: NewSession, *, claim_by: str | None = None, decide: Decide | None = None
    ) -> Committed | None:
        """See the port. Raises StoreError where the id is taken."""
        tables, session_id = self._tables, new.index.session_id
        if session_id in tables.sessions:
            raise StoreError(f"there is a session {session_id!r} already; nothing was written")
        self._refuse_taken(new.index)
        rows, task = make_session(tables, new)
        taken = None
        if claim_by is not None and task is not None:
            taken = claim_task(tables, rows, task, claim_by, decide or _nothing)
        tables.put(rows)
        return taken

    async def delete_session(self, session_id: str) -> None:
        """See the port."""
        for task in self._tables.rows(session_id).live_tasks:
            if task.status is TaskStatus.RUNNING:
                raise StoreError(f"task {task.task_id!r} is running; cancel session {session_id} first")
        self._tables.drop(session_id)
        wake_for(self._tables, session_end(session_id))

    async def add_signal(self, session_id: str, signal: NewSignal) -> int:
        """See the port. Raises UnknownSession."""
        with self._tables.writing(session_id) as rows:
            return add_signal(self._tables, rows, signal)

    def _refuse_taken(self, index: SessionIndex) -> None:
        key = index.enqueue_key
        for rows in self._tables.sessions.values():
            if key is not None and rows.index.enqueue_key == key:
                raise KeyTaken(key, rows.index.session_id)


def _nothing(_: object) -> Changes:
    return Changes()
