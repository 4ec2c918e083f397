"""The Snapshots port over git: each call is one piece of work in a thread, alone in its private repository."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from nonoka.adapters.workspace import collecting, fitness
from nonoka.adapters.workspace.git import items
from nonoka.adapters.workspace.kept import Kept, find, keep
from nonoka.adapters.workspace.paths import shown
from nonoka.adapters.workspace.picture import Picture, look
from nonoka.adapters.workspace.private_repository import PrivateRepository, private_repository
from nonoka.adapters.workspace.repository_state import digest, in_words
from nonoka.adapters.workspace.rollback import carry_out
from nonoka.adapters.workspace.rollback_plan import plan_rollback
from nonoka.adapters.workspace.stopping import Stop, in_thread
from nonoka.adapters.workspace.writing_out import write_out
from nonoka.errors import UnknownSnapshot, WorkspaceError
from nonoka.ports.clock import Clock
from nonoka.records.workspace import Collected, FileChange, Rollback, Snapshot

MAX_FILE_BYTES = 50_000_000
_KINDS = {b"A": "added", b"D": "removed"}
T = TypeVar("T")


class GitSnapshots:
    """Snapshots of any directory in private git repositories under ``home/snapshots``, one a workspace.

    Files over ``max_file_bytes`` are left out. ``anywhere`` allows even ``/`` and the home directory.
    """

    def __init__(
        self, home: Path, clock: Clock, *, max_file_bytes: int = MAX_FILE_BYTES, anywhere: bool = False
    ) -> None:
        self._home = home.absolute()
        self._clock = clock
        self._max_file_bytes = max_file_bytes
        self._anywhere = anywhere
        self._threads = ThreadPoolExecutor(max_workers=32, thread_name_prefix="nonoka-snapshots")

    def refuse_unfit(self, workspace: Path) -> None:
        """Raise UsageError for ``/``, the home directory and what is above it, unless ``anywhere``."""
        if not self._anywhere:
            fitness.refuse_unfit(workspace)

    async def take(self, workspace: Path, session_id: str, name: str) -> Snapshot:
        """The workspace as it is now is kept under this name, durably. Raises WorkspaceError."""

        def work(repo: PrivateRepository) -> Snapshot:
            return self._keep(repo, look(repo, self._max_file_bytes), session_id, name)

        return await self._in(workspace, work)

    async def repository_changes(self, workspace: Path, since: str | None) -> str | None:
        """What git itself changed since then, in words. Says less where that snapshot was collected."""

        def work(repo: PrivateRepository) -> str | None:
            now = look(repo, self._max_file_bytes).note.repository
            if since is None:
                return None if digest(now) is None else "a git repository has come into being"
            then, _, snapshot_id = since.partition("@")
            if then == digest(now):
                return None
            try:
                return in_words(find(repo.git(), snapshot_id).note.repository, now)
            except UnknownSnapshot:
                return "HEAD, a ref or the index changed"

        return await self._in(workspace, work)

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
        """The workspace is as it was at that snapshot, but for ignored files. See the port."""

        def work(repo: PrivateRepository) -> Rollback:
            then = find(repo.git(), snapshot_id)
            now = look(repo, self._max_file_bytes, sure=True)
            before = None if dry_run else self._keep(repo, now, session_id, name).snapshot_id
            plan = plan_rollback(repo, then, now, until_ms)
            if not dry_run:
                carry_out(repo, plan)
            return Rollback(before=before, changes=plan.changes(), kept=plan.notes())

        return await self._in(workspace, work)

    async def changes(self, workspace: Path, since: str, until: str | None = None) -> tuple[FileChange, ...]:
        """The files that differ. Raises UnknownSnapshot."""

        def work(repo: PrivateRepository) -> tuple[FileChange, ...]:
            said = items(repo.git().run(*_DIFF, "-z", "--name-status", *self._ends(repo, since, until)))
            return tuple(
                FileChange.model_validate({"path": shown(path), "kind": _KINDS.get(status, "changed")})
                for status, path in zip(said[::2], said[1::2], strict=True)
            )

        return await self._in(workspace, work)

    async def diff(self, workspace: Path, since: str, until: str | None = None) -> bytes:
        """A unified diff. Raises UnknownSnapshot."""

        def work(repo: PrivateRepository) -> bytes:
            shape = ("-p", "--no-color", "--no-ext-diff", "--no-textconv")
            return repo.git().run(*_DIFF, *shape, *self._ends(repo, since, until))

        return await self._in(workspace, work)

    async def write_out(self, workspace: Path, snapshot_id: str, target: Path) -> None:
        """The snapshot's files are in ``target``. Raises UnknownSnapshot, WorkspaceError if it isn't empty."""
        await self._in(workspace, lambda repo: write_out(repo, find(repo.git(), snapshot_id), target))

    async def collect(
        self, keep: Collection[str], *, taken_until: int, sparing: Collection[str] = (), dry_run: bool = False
    ) -> Collected:
        """Snapshots that nobody keeps are gone. Killed anywhere, it leaves every kept snapshot whole."""
        wanted = collecting.Wanted(frozenset(keep), frozenset(sparing), taken_until)
        return await in_thread(
            self._threads, lambda stop: collecting.collect(self._home, wanted, stop, dry_run=dry_run)
        )

    def size(self) -> int:
        """What all snapshots take on the disk, in bytes."""
        return collecting.size(self._home / "snapshots")

    def _keep(self, repo: PrivateRepository, picture: Picture, session_id: str, name: str) -> Snapshot:
        return keep(repo, picture, session_id, name, self._clock.now_ms())

    def _ends(self, repo: PrivateRepository, since: str, until: str | None) -> tuple[str, str]:
        begin: Kept = find(repo.git(), since)
        end = find(repo.git(), until).files if until else look(repo, self._max_file_bytes).tree
        return begin.files, end

    async def _in(self, workspace: Path, work: Callable[[PrivateRepository], T]) -> T:
        def alone(stop: Stop) -> T:
            try:
                with private_repository(self._home, workspace, stop) as repo:
                    return work(repo)
            except OSError as error:
                place = os.fsdecode(error.filename) if error.filename else str(workspace)
                raise WorkspaceError(f"{place}: {error.strerror or error}") from error

        return await in_thread(self._threads, alone)


_DIFF = ("diff-tree", "-r", "--no-renames")
