"""How long things are kept, and what a collection of the rest finds and does."""

from __future__ import annotations

from nonoka.records.base import Record
from nonoka.records.session import SessionIndex, SessionStatus


class Retention(Record):
    """What may go: ended sessions after ``keep_days`` (None: none), and snapshots beyond ``snapshots_mb`` MB."""

    keep_days: float | None = None
    snapshots_mb: float | None = None


class OldSession(Record):
    """A session as retention looks at it.

    ``busy``: it has a live task or a signal that nobody has read. ``kin_at_work``: its parent, or a session whose
    parent it is, has not ended or has a live task.
    """

    index: SessionIndex
    status: SessionStatus
    busy: bool
    kin_at_work: bool


class Leftover(Record):
    """A directory that was made for a session that is deleted.

    ``repository`` is the git repository whose working tree it is; None: a fork's copy.
    """

    directory: str
    session_id: str
    repository: str | None = None


class LeftDirectory(Record):
    """A directory of a deleted session that stays, and why."""

    directory: str
    why: str


class CollectionReport(Record):
    """What a collection removed, or would remove. Sizes are bytes on the disk.

    ``artifacts`` are the sessions whose kept results went. ``let_go`` counts snapshots of ended sessions that go
    because all together take more than they may; ``over_bytes`` is by how much they still do after that.
    ``left`` stays for somebody to look at, ``errors`` is what could not be done this time.
    """

    sessions: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()
    artifact_bytes: int = 0
    snapshots: int = 0
    snapshot_bytes: int = 0
    snapshots_size: int = 0
    let_go: int = 0
    over_bytes: int = 0
    directories: tuple[str, ...] = ()
    left: tuple[LeftDirectory, ...] = ()
    store_bytes: int = 0
    errors: tuple[str, ...] = ()
