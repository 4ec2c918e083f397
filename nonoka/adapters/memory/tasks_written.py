"""A session's tasks as a transaction changes them, but for the one that it is made for."""

from __future__ import annotations

from nonoka.adapters.memory.rows import SessionRows
from nonoka.adapters.memory.tables import Tables
from nonoka.errors import StoreError
from nonoka.records.task import Task, TaskStatus, kind_of, task_id_of

UNCLAIMED = {"lease_owner": None, "lease_expires_at": None, "sent_at": None, "sends": 0}
_OVER = (TaskStatus.DONE, TaskStatus.DEAD)


def add_task(tables: Tables, rows: SessionRows, key: str) -> Task:
    """A ready task with this key. Raises StoreError if the session has the key already."""
    session_id = rows.index.session_id
    task_id = task_id_of(session_id, key)
    if task_id in rows.tasks:
        raise StoreError(f"session {session_id!r} has a task {key!r} already; nothing was written")
    task = Task(
        task_id=task_id,
        session_id=session_id,
        kind=kind_of(key),
        key=key,
        status=TaskStatus.READY,
        not_before=tables.clock.now_ms(),
    )
    rows.tasks[task_id] = task
    rows.task_order[task_id] = tables.next_number()
    return task


def open_step(tables: Tables, rows: SessionRows, key: str) -> None:
    """A step's task is ready; one that had ended is again, as if new but for its fence and attempts."""
    known = rows.tasks.get(task_id_of(rows.index.session_id, key))
    if known is None:
        add_task(tables, rows, key)
    elif known.status in _OVER:
        fresh = {
            "status": TaskStatus.READY,
            "fence": known.fence + 1,
            "retries": 0,
            "deaths": 0,
            "waits_for": None,
        }
        rows.tasks[known.task_id] = known.model_copy(
            update=UNCLAIMED | fresh | {"not_before": tables.clock.now_ms()}
        )


def take_off(rows: SessionRows, task_id: str) -> None:
    """A task that nobody runs is done without having been."""
    task = rows.tasks[task_id]
    if task.status in (TaskStatus.READY, TaskStatus.WAITING):
        rows.tasks[task_id] = closed(task)


def closed(task: Task) -> Task:
    """The task as it is once nobody may commit for it any more."""
    over = {"status": TaskStatus.DONE, "fence": task.fence + 1, "waits_for": None}
    return task.model_copy(update=UNCLAIMED | over)


def woken(task: Task) -> Task:
    """A waiting task as it is once it need not wait any more."""
    return task.model_copy(update={"status": TaskStatus.READY, "waits_for": None, "sent_at": None, "sends": 0})
