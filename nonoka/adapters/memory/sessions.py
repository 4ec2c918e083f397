"""The part of the store that makes sessions and signals them."""

from __future__ import annotations

from nonoka.adapters.memory.rows import SessionRows
from nonoka.adapters.memory.tables import Tables
from nonoka.adapters.memory.writes import add_task, claim_task, woken
from nonoka.decisions.transitions import TERMINAL
from nonoka.errors import KeyTaken, StoreError
from nonoka.ports.store import Decide
from nonoka.records.base import JsonObject
from nonoka.records.commit import Changes, Committed, NewSession, NewSignal
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.session import SessionIndex, SessionStatus
from nonoka.records.signal import Signal, SignalKind
from nonoka.records.task import WORKSPACE, TaskStatus, turn_key

#: what gives a paused session a task again
_WAKE_PAUSED = frozenset(
    {SignalKind.RESUME, SignalKind.RETRY, SignalKind.CANCEL, SignalKind.ANSWER, SignalKind.ROLLBACK}
)
#: what even a task must hear that waits for its workspace
_STOPS = frozenset({SignalKind.CANCEL, SignalKind.PAUSE})
#: what gives any other session one that has none
_WAKE = frozenset({SignalKind.MESSAGE, SignalKind.RETRY, SignalKind.ROLLBACK})


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
        rows = SessionRows(index=new.index, state=new.state)
        prompt = MemoryEntry(position=0, role=MemoryRole.USER, content=new.prompt)
        rows.entries = {entry.position: entry for entry in new.entries or [prompt]}
        rows.tell(new.events, tables.clock.now_ms())
        if new.entries:
            tables.put(rows)
            return None
        task = add_task(tables, rows, turn_key(1))
        taken = None
        if claim_by is not None:
            taken = claim_task(tables, rows, task, claim_by, decide or _nothing)
        tables.put(rows)
        return taken

    async def delete_session(self, session_id: str) -> None:
        """See the port."""
        for task in self._tables.rows(session_id).live_tasks:
            if task.status is TaskStatus.RUNNING:
                raise StoreError(f"task {task.task_id!r} is running; cancel session {session_id} first")
        self._tables.drop(session_id)

    async def add_signal(self, session_id: str, signal: NewSignal) -> int:
        """See the port. Raises UnknownSession."""
        with self._tables.writing(session_id) as rows:
            payload: JsonObject = dict(signal.payload)
            seq = len(rows.signals) + 1
            now = self._tables.clock.now_ms()
            rows.signals.append(
                Signal(session_id=session_id, seq=seq, kind=signal.kind, payload=payload, created_at=now)
            )
            if rows.live_tasks:
                _make_due(rows, now, stops=signal.kind in _STOPS)
            elif _wakes(signal.kind, rows.state.status):
                add_task(self._tables, rows, turn_key(rows.highest_turn + 1))
            elif rows.state.status in TERMINAL:
                rows.drained.add(seq)
            return seq

    def _refuse_taken(self, index: SessionIndex) -> None:
        key = index.enqueue_key
        for rows in self._tables.sessions.values():
            if key is not None and rows.index.enqueue_key == key:
                raise KeyTaken(key, rows.index.session_id)


def _nothing(_: object) -> Changes:
    return Changes()


def _wakes(kind: SignalKind, status: SessionStatus) -> bool:
    return kind in (_WAKE_PAUSED if status is SessionStatus.PAUSED else _WAKE)


def _make_due(rows: SessionRows, now: int, *, stops: bool) -> None:
    for task in rows.live_tasks:
        if stops and task.waits_for == WORKSPACE:
            rows.tasks[task.task_id] = woken(task)
        if task.status is TaskStatus.READY and task.not_before > now:
            rows.tasks[task.task_id] = task.model_copy(update={"not_before": now, "sent_at": None, "sends": 0})
