"""A signal on its way into a session's inbox, and what makes sure that a task will read it."""

from __future__ import annotations

from nonoka.adapters.memory.rows import SessionRows
from nonoka.adapters.memory.tables import Tables
from nonoka.adapters.memory.tasks_written import add_task, woken
from nonoka.decisions.transitions import TERMINAL
from nonoka.records.base import JsonObject
from nonoka.records.commit import NewSignal
from nonoka.records.session import SessionStatus
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


def add_signal(tables: Tables, rows: SessionRows, signal: NewSignal) -> int:
    """The signal is in the inbox, and a task will read it; returns its place."""
    payload: JsonObject = dict(signal.payload)
    seq, now, live = len(rows.signals) + 1, tables.clock.now_ms(), rows.live_tasks
    rows.signals.append(
        Signal(session_id=rows.index.session_id, seq=seq, kind=signal.kind, payload=payload, created_at=now)
    )
    _make_due(rows, now, stops=signal.kind in _STOPS)
    wakes = signal.kind in (_WAKE_PAUSED if rows.state.status is SessionStatus.PAUSED else _WAKE)
    # A task that waits for another session's end reads nothing until then.
    deaf = all(task.status is TaskStatus.WAITING and task.waits_for != WORKSPACE for task in live)
    if deaf and (live or wakes):
        add_task(tables, rows, turn_key(rows.highest_turn + 1))
    elif not live and rows.state.status in TERMINAL:
        rows.drained.add(seq)
    return seq


def _make_due(rows: SessionRows, now: int, *, stops: bool) -> None:
    for task in rows.live_tasks:
        if stops and task.waits_for == WORKSPACE:
            rows.tasks[task.task_id] = woken(task)
        if task.status is TaskStatus.READY and task.not_before > now:
            rows.tasks[task.task_id] = task.model_copy(update={"not_before": now, "sent_at": None, "sends": 0})
