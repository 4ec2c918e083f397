"""Everything the store holds, and how a transaction on it is made. Called by the three parts of the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nonoka.adapters.memory.rows import SessionRows
from nonoka.decisions.retention import own_directory
from nonoka.errors import UnknownSession
from nonoka.ports.clock import Clock
from nonoka.records.retention import Leftover
from nonoka.records.task import Task, Worker


class Tables:
    """The rows of every session and worker.

    No method of the store awaits anything, so each one is a transaction as far as the event loop is
    concerned; ``writing`` adds that a failed one leaves nothing behind.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.sessions: dict[str, SessionRows] = {}
        self.workers: dict[str, Worker] = {}
        #: workspace -> the running task that may change it
        self.locks: dict[str, str] = {}
        #: by directory
        self.leftovers: dict[str, Leftover] = {}
        self.next_collection_at = 0
        self.broker: str | None = None
        self.commits = 0
        self._last_number = 0

    def rows(self, session_id: str) -> SessionRows:
        """A session's rows, to be read. Raises UnknownSession."""
        try:
            return self.sessions[session_id]
        except KeyError:
            raise UnknownSession(session_id) from None

    @contextmanager
    def writing(self, session_id: str) -> Iterator[SessionRows]:
        """A copy of a session's rows that takes their place unless the block raises."""
        rows = self.rows(session_id).copy()
        yield rows
        self.put(rows)

    def put(self, rows: SessionRows) -> None:
        """These are the session's rows from here on."""
        self.sessions[rows.index.session_id] = rows
        self.commits += 1

    def drop(self, session_id: str) -> None:
        """The session's rows are gone; the directory that was made for it is a leftover."""
        own = own_directory(self.sessions.pop(session_id).index)
        if own is not None:
            self.leftovers[own.directory] = own
        self.commits += 1

    def next_number(self) -> int:
        """The store's own counter: never the same twice, always higher."""
        self._last_number += 1
        return self._last_number

    def all_tasks(self) -> Iterator[tuple[SessionRows, Task]]:
        """Every task with its session, in the order in which the tasks were added."""
        found = [(rows, task) for rows in self.sessions.values() for task in rows.tasks.values()]
        return iter(sorted(found, key=lambda pair: pair[0].task_order[pair[1].task_id]))

    def rows_of_task(self, task_id: str) -> SessionRows | None:
        """The session that has this task."""
        return next((rows for rows in self.sessions.values() if task_id in rows.tasks), None)
