"""A signal on its way into a session's inbox, and what makes sure that a task will read it."""

from __future__ import annotations

import sqlite3

from nonoka.adapters.sqlite import checkpoints, signals, tasks
from nonoka.decisions.transitions import TERMINAL
from nonoka.records.commit import NewSignal
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.task import TaskStatus

_WAKES = frozenset({SignalKind.MESSAGE, SignalKind.RETRY, SignalKind.ROLLBACK})
_WAKES_PAUSED = frozenset(
    {SignalKind.RETRY, SignalKind.RESUME, SignalKind.CANCEL, SignalKind.ANSWER, SignalKind.ROLLBACK}
)
_STOPS = frozenset({SignalKind.CANCEL, SignalKind.PAUSE})


def add(db: sqlite3.Connection, session_id: str, signal: NewSignal, now: int) -> int:
    """The signal is in the inbox, and a task will read it; returns its place. Raises UnknownSession."""
    status = SessionStatus(checkpoints.status(db, session_id))
    live = tasks.live_of_session(db, session_id)
    wakes = signal.kind in (_WAKES_PAUSED if status is SessionStatus.PAUSED else _WAKES)
    moot = not live and not wakes and status in TERMINAL
    seq = signals.insert(db, session_id, signal, now, drained=moot)
    tasks.make_due(db, session_id, now)
    if signal.kind in _STOPS:
        tasks.wake_session(db, session_id)
    # A task that waits for another session's end reads nothing until then.
    deaf = all(task.status is TaskStatus.WAITING and task.waits_for != "workspace" for task in live)
    if deaf and (live or wakes):
        tasks.insert_next_turn(db, session_id, now)
    return seq
