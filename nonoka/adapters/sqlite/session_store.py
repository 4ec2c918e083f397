"""The part of the store that makes sessions and signals them."""

from __future__ import annotations

import sqlite3

from nonoka.adapters.sqlite import checkpoints, cli_sessions, events, memory_entries, signals, tasks
from nonoka.adapters.sqlite.opened_store import OpenedStore
from nonoka.adapters.sqlite.transactions import take
from nonoka.decisions.transitions import TERMINAL
from nonoka.errors import StoreError
from nonoka.ports.store import Decide
from nonoka.records.commit import Changes, Committed, NewSession, NewSignal, SessionView
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.task import TaskStatus

_WAKES = frozenset({SignalKind.MESSAGE, SignalKind.RETRY, SignalKind.ROLLBACK})
_WAKES_PAUSED = frozenset(
    {SignalKind.RETRY, SignalKind.RESUME, SignalKind.CANCEL, SignalKind.ANSWER, SignalKind.ROLLBACK}
)
_STOPS = frozenset({SignalKind.CANCEL, SignalKind.PAUSE})


class SessionStorePart(OpenedStore):
    """``ports.store.SessionStore`` in SQLite."""

    async def create_session(
        self, new: NewSession, *, claim_by: str | None = None, decide: Decide | None = None
    ) -> Committed | None:
        def work(db: sqlite3.Connection) -> Committed | None:
            now, session_id = self._now(), new.index.session_id
            checkpoints.insert(db, new.state)
            cli_sessions.insert(db, new.index)
            prompt = MemoryEntry(position=0, role=MemoryRole.USER, content=new.prompt)
            memory_entries.append(db, session_id, new.entries or [prompt])
            events.append(db, session_id, new.events, now)
            if new.entries:
                return None
            task_id = tasks.insert_next_turn(db, session_id, now)
            if claim_by is None:
                return None
            first = decide or _nothing
            return take(db, task_id, claim_by, first, now=now, lease_expires_at=self._lease())

        return await self._write(work, durable=True)

    async def delete_session(self, session_id: str) -> None:
        def work(db: sqlite3.Connection) -> None:
            checkpoints.status(db, session_id)
            for task in tasks.live_of_session(db, session_id):
                if task.status is TaskStatus.RUNNING:
                    raise StoreError(f"task {task.task_id!r} is running; cancel session {session_id} first")
            checkpoints.delete(db, session_id)

        await self._write(work, durable=True)

    async def add_signal(self, session_id: str, signal: NewSignal) -> int:
        def work(db: sqlite3.Connection) -> int:
            now = self._now()
            status = SessionStatus(checkpoints.status(db, session_id))
            live = tasks.live_of_session(db, session_id)
            wakes = signal.kind in (_WAKES_PAUSED if status is SessionStatus.PAUSED else _WAKES)
            moot = not live and not wakes and status in TERMINAL
            seq = signals.insert(db, session_id, signal, now, drained=moot)
            if live:
                tasks.make_due(db, session_id, now)
                if signal.kind in _STOPS:
                    tasks.wake_session(db, session_id)
            elif wakes:
                tasks.insert_next_turn(db, session_id, now)
            return seq

        return await self._write(work, durable=True)


def _nothing(view: SessionView) -> Changes:
    return Changes()
