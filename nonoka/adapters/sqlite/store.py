"""The SQLite store: the port's methods, each one transaction in one thread hop."""

from __future__ import annotations

from nonoka.adapters.sqlite.read_store import ReadStorePart
from nonoka.adapters.sqlite.retention_store import RetentionStorePart
from nonoka.adapters.sqlite.session_store import SessionStorePart
from nonoka.adapters.sqlite.task_store import TaskStorePart


class SqliteStore(TaskStorePart, SessionStorePart, ReadStorePart, RetentionStorePart):
    """A store in one file, for the processes of one machine. Open it with ``open``."""
