"""What is kept and told about a workspace: its snapshots, and what going back to one did."""

from __future__ import annotations

from typing import Literal

from nonoka.records.base import Record

#: where a session works: in the directory itself, or in a git working tree made for it
Isolation = Literal["none", "worktree"]
#: why a snapshot was taken
WhySnapshot = Literal["before_call", "before_rollback"]


class PathNote(Record):
    """A path, and why it was treated differently from the others.

    ``path`` is relative to the workspace; bytes of a name that aren't UTF-8 are shown as ``\\xNN``.
    """

    path: str
    why: str


class Snapshot(Record):
    """A picture of a workspace: every file that isn't ignored.

    ``snapshot_id`` names it for good. ``repository`` is the state of the user's own git repository (a digest
    of HEAD, the refs and the index), None where there is none. ``left_out`` are files that are not in it
    though nothing ignores them (over the size cap, unreadable, a nested repository's).
    """

    snapshot_id: str
    repository: str | None = None
    left_out: tuple[PathNote, ...] = ()


class SnapshotTaken(Record):
    """A row of ``snapshots``: which one was taken, when (ms UTC), and why.

    ``before_call``: of the call ``step_id`` of turn ``turn``; ``before_rollback``: what a rollback replaced.
    """

    snapshot_id: str
    session_id: str
    workspace: str
    turn: int
    step_id: str
    why: WhySnapshot
    taken_at: int


class Worktree(Record):
    """A working tree of its own: ``branch`` of the git repository at ``repository`` (an absolute path)."""

    repository: str
    branch: str


class Work(Record):
    """What became of the work in a working tree of its own: the git ``commit`` that holds it, or why none does.

    Neither where there is no such tree, or nothing had changed in it.
    """

    commit: str | None = None
    not_committed: str | None = None


class FileChange(Record):
    """A file that differs between two states of a workspace. ``path`` as in PathNote."""

    path: str
    kind: Literal["added", "changed", "removed"]


class Rollback(Record):
    """What going back to a snapshot did, or with ``dry_run`` would do.

    ``before`` is the snapshot of the state that was there, to undo it (None for a dry run). ``changes`` tell
    how each file changed by the rollback itself. ``kept`` are files that differ from the snapshot and were
    left: ignored now or then, changed after the call's life, not removable.
    """

    before: str | None
    changes: tuple[FileChange, ...] = ()
    kept: tuple[PathNote, ...] = ()


class Collected(Record):
    """What a collection removed from the store of snapshots, or would remove. Sizes are bytes on the disk.

    Before it is done, ``bytes_after`` is what it would be without what only the removed ones hold. ``errors`` says
    where it could not be done, and why.
    """

    removed: tuple[str, ...] = ()
    bytes_before: int = 0
    bytes_after: int = 0
    errors: tuple[str, ...] = ()
