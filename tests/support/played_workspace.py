"""Snapshots and use marks of a machine whose files are only played: what was taken and gone back to is noted."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from nonoka.records.workspace import Collected, FileChange, Rollback, Snapshot


class PlayedSnapshots:
    """``ports.workspace.Snapshots`` without files. ``taken`` and ``undone`` are (session, snapshot id)."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, str]] = []
        self.undone: list[tuple[str, str]] = []

    def refuse_unfit(self, workspace: Path) -> None:
        """Every directory will do."""

    async def take(self, workspace: Path, session_id: str, name: str) -> Snapshot:
        snapshot = Snapshot(snapshot_id=f"snapshot-{len(self.taken) + 1}")
        self.taken.append((session_id, snapshot.snapshot_id))
        return snapshot

    async def repository_changes(self, workspace: Path, since: str | None) -> str | None:
        return None

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
        self.undone.append((session_id, snapshot_id))
        return Rollback(before=f"before-{name}")

    async def changes(self, workspace: Path, since: str, until: str | None = None) -> tuple[FileChange, ...]:
        return ()

    async def diff(self, workspace: Path, since: str, until: str | None = None) -> bytes:
        return b""

    async def write_out(self, workspace: Path, snapshot_id: str, target: Path) -> None:
        """There are no files."""

    async def collect(
        self, keep: Collection[str], *, taken_until: int, sparing: Collection[str] = (), dry_run: bool = False
    ) -> Collected:
        return Collected()


class PlayedUse:
    """``ports.workspace.WorkspaceUse`` of a machine with one store."""

    def __init__(self) -> None:
        self.in_use: set[tuple[Path, str]] = set()

    async def announce(self, workspace: Path, session_id: str) -> None:
        self.in_use.add((workspace, session_id))

    async def others(self, workspace: Path) -> str | None:
        return None

    async def withdraw(self, workspace: Path, session_id: str) -> None:
        self.in_use.discard((workspace, session_id))


class PlayedWorktrees:
    """``ports.workspace.Worktrees`` without any git: ``made`` are (directory, branch)."""

    def __init__(self) -> None:
        self.made: list[tuple[Path, str]] = []
        self.removed: list[Path] = []

    async def root(self, directory: Path) -> Path:
        return directory

    async def outermost(self, directory: Path) -> Path:
        return directory

    async def make(
        self, repository: Path, target: Path, branch: str, *, inner: str = "", empty: bool = False
    ) -> None:
        self.made.append((target, branch))

    async def commit(self, worktree: Path, message: str) -> str | None:
        return "c0ffee"

    async def remove(self, worktree: Path) -> None:
        self.removed.append(worktree)

    async def let_go(self, directory: Path, repository: Path | None, *, dry_run: bool = False) -> str | None:
        self.removed.append(directory)
        return None
