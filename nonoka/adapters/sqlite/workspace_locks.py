"""Table ``workspace_locks``: which running task may change which workspace, and who waits for that."""

from __future__ import annotations

import sqlite3

from nonoka.adapters.sqlite import tasks
from nonoka.adapters.sqlite.queries import queries

_Q = queries("workspace_locks")


def holder(db: sqlite3.Connection, workspace: str, task_id: str) -> str | None:
    """The task that may change this directory, or one above or below it; another one before this one."""
    found = [str(row["task_id"]) for row in db.execute(_Q["holders"], {"workspace": workspace})]
    return next((other for other in found if other != task_id), found[0] if found else None)


def take(db: sqlite3.Connection, workspace: str, task_id: str, now: int) -> None:
    """The workspace, which nobody has, is this task's to change."""
    db.execute(_Q["take"], {"workspace": workspace, "task_id": task_id, "now": now})


def free(db: sqlite3.Connection, task_id: str) -> tuple[str, ...]:
    """What this task had is free; returns the task that is ready by it, the one that has waited longest."""
    db.execute(_Q["free"], {"task_id": task_id})
    return wake(db, 1)


def wake(db: sqlite3.Connection, limit: int) -> tuple[str, ...]:
    """At most so many tasks whose workspace nobody has are ready; returns them, longest waiting first."""
    woken = tuple(str(row["task_id"]) for row in db.execute(_Q["waiting"], {"limit": limit}))
    for task_id in woken:
        tasks.wake(db, task_id)
    return woken


def free_abandoned(db: sqlite3.Connection) -> None:
    """No lock is a task's that doesn't run."""
    for row in db.execute(_Q["abandoned"]).fetchall():
        db.execute(_Q["free"], {"task_id": row["task_id"]})


def is_held(db: sqlite3.Connection, session_id: str) -> bool:
    """Whether a task of this session has a workspace."""
    return db.execute(_Q["held"], {"session_id": session_id}).fetchone() is not None


def needs_care(db: sqlite3.Connection) -> bool:
    """Whether a lock is abandoned, or a task waits for what is free."""
    return (
        db.execute(_Q["abandoned"]).fetchone() is not None
        or db.execute(_Q["waiting"], {"limit": 1}).fetchone() is not None
    )
