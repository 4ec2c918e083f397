"""A session's workspace: snapshots of it, the way back to one, and who is changing it.

Paths of workspaces are absolute and resolved. Methods may be cancelled or killed anywhere and done again.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Protocol

from nonoka.records.workspace import Collected, FileChange, Rollback, Snapshot


class Snapshots(Protocol):
    """Pictures of workspaces, kept beside the store. Nothing of the user's own repository is ever touched."""

    def refuse_unfit(self, workspace: Path) -> None:
        """Raise UsageError where a directory can't be a workspace with snapshots: ``/``, the home directory."""

    async def take(self, workspace: Path, session_id: str, name: str) -> Snapshot:
        """The workspace as it is now is kept under this name of the session, durably.

        ``name`` is made of letters, digits and ``-``; a second one of the same name takes the first one's
        place. Raises WorkspaceError.
        """

    async def repository_changes(self, workspace: Path, since: str | None) -> str | None:
        """What git itself changed since a snapshot whose ``repository`` was this, in words; None: nothing.

        A repository that has come into being, or is gone, is a change.
        """

    async def roll_back(
        self,
        workspace: Path,
        snapshot_id: str,
        session_id: str,
        name: str,
        *,
        until_ms: int | None = None,
        dry_run: bool = False,
    ) -> Rollback:
        """The workspace is as it was at that snapshot, but for ignored files; what was there is kept as ``name``.

        What the ignore rules of the snapshot or those of now protect is left. With ``until_ms`` (ms UTC) a file
        that was changed later is left as well. Raises WorkspaceError, UnknownSnapshot.
        """

    async def changes(self, workspace: Path, since: str, until: str | None = None) -> tuple[FileChange, ...]:
        """The files that differ between a snapshot and another one, or the present. Raises UnknownSnapshot."""

    async def diff(self, workspace: Path, since: str, until: str | None = None) -> bytes:
        """The same as a unified diff, as git prints it."""

    async def write_out(self, workspace: Path, snapshot_id: str, target: Path) -> None:
        """A snapshot's files are in an empty or new directory."""

    async def collect(
        self, keep: Collection[str], *, taken_until: int, sparing: Collection[str] = (), dry_run: bool = False
    ) -> Collected:
        """Snapshots that were taken until then (ms UTC) and aren't in ``keep`` are gone, their space freed.

        Those of the sessions ``sparing`` stay. What can't be done in one place is told, and doesn't stop it.
        """


class WorkspaceUse(Protocol):
    """Who is changing a workspace, as seen by the stores that share a disk."""

    async def announce(self, workspace: Path, session_id: str) -> None:
        """A file in the workspace's ``.nonoka/`` says that this store's session is changing it."""

    async def others(self, workspace: Path) -> str | None:
        """Who else is changing it, or a directory above or below, through another store: its name; None: nobody.

        What another store does not hold any more is no obstacle.
        """

    async def withdraw(self, workspace: Path, session_id: str) -> None:
        """The file is gone."""


class Worktrees(Protocol):
    """A working tree of its own for a session, in the user's own repository, because the user asked for it."""

    async def root(self, directory: Path) -> Path:
        """The root of the repository's working tree around a directory. Raises WorkspaceError without one."""

    async def outermost(self, directory: Path) -> Path:
        """The same of the outermost repository around it, the directory itself without one.

        What lies beside that is in nobody's ``git status``.
        """

    async def make(
        self, repository: Path, target: Path, branch: str, *, inner: str = "", empty: bool = False
    ) -> None:
        """``target`` is a git worktree of the repository's HEAD, on a new branch; ``empty``: without its files.

        ``inner`` names a directory in it that is there as well, committed or not.

        Raises WorkspaceError, naming the remedy, where there is no repository or no commit yet.
        """

    async def commit(self, worktree: Path, message: str) -> str | None:
        """What changed in it is committed on its branch, under the user's own identity and without hooks.

        ``worktree`` may be a directory in it: all of it is committed.
        Returns the commit's id, None where nothing had changed.
        """

    async def remove(self, worktree: Path) -> None:
        """The working tree is gone; its branch stays."""

    async def let_go(self, directory: Path, repository: Path | None, *, dry_run: bool = False) -> str | None:
        """The directory, a working tree of the repository, is gone (None); or why it stays, in words.

        It stays where anything in it is nowhere else. Without a repository only an empty one goes. Killed
        anywhere, it can be done again.
        """
