"""The part of the store that makes sessions and signals them."""

from __future__ import annotations

import sqlite3

from nonoka.adapters.sqlite import checkpoints, inbox, making, tasks
from nonoka.adapters.sqlite.deletion import delete
from nonoka.adapters.sqlite.opened_store import OpenedStore
from nonoka.adapters.sqlite.transactions import take
from nonoka.errors import StoreError
from nonoka.ports.store import Decide
from nonoka.records.commit import Changes, Committed, NewSession, NewSignal, SessionView
from nonoka.records.task import TaskStatus


class SessionStorePart(OpenedStore):
    """``ports.store.SessionStore`` in SQLite."""

    async def create_session(
        self, new: NewSession, *, claim_by: str | None = None, decide: Decide | None = None
    ) -> Committed | None:
        def work(db: sqlite3.Connection) -> Committed | None:
            now = self._now()
            task_id = making.make(db, new, now)
            if claim_by is None or task_id is None:
                return None
            first = decide or _nothing
            return take(db, task_id, claim_by, first, now=now, lease_expires_at=self._lease())[0]

        return await self._write(work, durable=True)

    async def delete_session(self, session_id: str) -> None:
        def work(db: sqlite3.Connection) -> None:
            checkpoints.status(db, session_id)
            for task in tasks.live_of_session(db, session_id):
                if task.status is TaskStatus.RUNNING:
                    raise StoreError(f"task {task.task_id!r} is running; cancel session {session_id} first")
            delete(db, session_id, self._now())

        await self._write(work, durable=True)

    async def add_signal(self, session_id: str, signal: NewSignal) -> int:
        return await self._write(lambda db: inbox.add(db, session_id, signal, self._now()), durable=True)


def _nothing(view: SessionView) -> Changes:
    return Changes()
