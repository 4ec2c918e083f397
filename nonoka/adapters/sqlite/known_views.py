"""The sessions of the tasks that this process runs, as its own last commits left them. The store's commits ask it.

A commit would read anew what the one before it has just written. Instead it reads the task under its fence, the
version of the session's checkpoint and whether signals or locks are there: what a view shows beside these changes
in no commit that leaves the version as it was.
"""

from __future__ import annotations

import sqlite3

from nonoka.adapters.sqlite import signals, workspace_locks
from nonoka.adapters.sqlite.tasks import Held
from nonoka.records.commit import Claim, SessionView


class KnownViews:
    """By task: the version of its session and the view at that version. Only of tasks that run here."""

    def __init__(self) -> None:
        self._views: dict[str, tuple[int, SessionView]] = {}

    def remember(self, claim: Claim, version: int, view: SessionView) -> None:
        """A transaction that is committed left the session so, for the task of this claim."""
        if view.task.status == "running" and view.plan is None:
            self._views[claim.task_id] = (version, view)
        else:
            self.forget(claim)

    def forget(self, claim: Claim) -> None:
        """The task is no longer this process's."""
        self._views.pop(claim.task_id, None)

    def view(self, db: sqlite3.Connection, held: Held, now: int) -> SessionView | None:
        """The session as this transaction finds it; None where only reading all of it can tell."""
        version, known = self._views.get(held.task.task_id, (0, None))
        if known is None or version != held.version or known.task.fence != held.task.fence:
            return None
        return known.model_copy(
            update={
                "now": now,
                "task": held.task,
                "signals": signals.undrained(db, held.task.session_id) if held.has_signals else (),
                "workspace_holder": (
                    workspace_locks.holder(db, known.index.working_dir, held.task.task_id)
                    if held.has_locks
                    else None
                ),
            }
        )
