"""Removes snapshots that nobody keeps, and frees their space."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from nonoka.adapters.workspace.git import Git
from nonoka.adapters.workspace.kept import REFS
from nonoka.adapters.workspace.memory import forget_tree
from nonoka.adapters.workspace.private_repository import PrivateRepository, private_repository, workspace_of
from nonoka.adapters.workspace.stopping import Stop
from nonoka.errors import WorkspaceError
from nonoka.records.workspace import Collected

#: With fewer objects that lie alone, a repository is not worth packing anew.
LOOSE_OBJECTS = 500


@dataclass(frozen=True)
class Wanted:
    """Which snapshots stay: these, those of these sessions, and what was taken after a time (ms UTC)."""

    snapshots: Collection[str]
    sessions: Collection[str]
    taken_after: int

    def has(self, kept: Ref) -> bool:
        """Whether this one does."""
        return kept.snapshot in self.snapshots or kept.session in self.sessions or kept.at_ms > self.taken_after


@dataclass(frozen=True)
class Ref:
    """A snapshot under its name."""

    name: str
    snapshot: str
    session: str
    at_ms: int


def collect(home: Path, wanted: Wanted, stop: Stop, *, dry_run: bool) -> Collected:
    """In every private repository under this home, one after the other, each under its lock."""
    base = home / "snapshots"
    before = size(base)
    removed: list[str] = []
    errors: list[str] = []
    would_free = 0
    for directory in sorted(base.iterdir()) if base.is_dir() else []:
        workspace = workspace_of(directory)
        if workspace is None:
            continue
        try:
            with private_repository(home, workspace, stop) as repo:
                gone = _unwanted(repo.git(), wanted)
                if dry_run:
                    would_free += _held_by_none_but(repo.git(), gone)
                else:
                    _remove(repo, gone)
                    _remove_repository_of_nothing(directory, repo)
                removed += [ref.snapshot for ref in gone]
        except (WorkspaceError, OSError) as error:
            errors.append(f"snapshots of {str(workspace)!r}: {error}")
    after = max(0, before - would_free) if dry_run else size(base)
    return Collected(removed=tuple(sorted(removed)), bytes_before=before, bytes_after=after, errors=tuple(errors))


def size(directory: Path) -> int:
    """What the files in a directory take on the disk, in bytes."""
    total = 0
    for above, _directories, files in os.walk(directory):
        for name in files:
            try:
                total += os.lstat(os.path.join(above, name)).st_blocks * 512
            except FileNotFoundError:
                continue
    return total


def _unwanted(git: Git, wanted: Wanted) -> list[Ref]:
    return [ref for ref in _refs(git) if not wanted.has(ref)]


def _refs(git: Git) -> list[Ref]:
    listed = git.run("for-each-ref", "--format=%(refname) %(objectname) %(contents:subject)", REFS)
    found = []
    for line in listed.decode().splitlines():
        name, snapshot, message = line.split(" ", 2)
        about = json.loads(message)
        found.append(Ref(name, snapshot, about["session"], about["at_ms"]))
    return found


def _held_by_none_but(git: Git, gone: list[Ref]) -> int:
    """About how many bytes their removal would free."""
    if not gone:
        return 0
    names = {ref.name for ref in gone}
    kept = [f"^{ref.snapshot}\n" for ref in _refs(git) if ref.name not in names]
    given = "".join([*(f"{ref.snapshot}\n" for ref in gone), *kept])
    return int(git.run("rev-list", "--objects", "--disk-usage", "--stdin", given=given.encode()))


def _remove(repo: PrivateRepository, gone: list[Ref]) -> None:
    """They are gone, and nothing is left that only they held, by a collection that was killed neither."""
    unfinished = repo.git_dir / "collection-begun"
    if not (gone or unfinished.exists() or _loose_objects(repo.git_dir) >= LOOSE_OBJECTS):
        return
    unfinished.touch()
    git = repo.git()
    if gone:
        # all refs first, in one transaction: no object goes while a ref still names it
        git.run("update-ref", "--stdin", given="".join(f"delete {ref.name}\n" for ref in gone).encode())
    _remove_empty(repo.git_dir / REFS)
    _free_space(repo, git)
    unfinished.unlink()


def _loose_objects(git_dir: Path) -> int:
    return sum(len(os.listdir(place)) for place in (git_dir / "objects").iterdir() if len(place.name) == 2)


def _free_space(repo: PrivateRepository, git: Git) -> None:
    """One pack of what is reachable, from refs or the index; everything else goes.

    Nothing is being added meanwhile: whoever takes a snapshot holds the lock that we hold.
    """
    for begun in (repo.git_dir / "objects" / "pack").glob(".tmp-*"):
        begun.unlink()  # by a collection that was killed
    forget_tree(repo.git_dir)
    git.run("pack-refs", "--all", "--prune")
    git.run("prune", "--expire=now")  # first, for it needs no room on a disk that is full
    git.run("repack", "-a", "-d", "-q", "--no-write-bitmap-index")


def _remove_repository_of_nothing(directory: Path, repo: PrivateRepository) -> None:
    if repo.workspace.exists() or _refs(repo.git()):
        return
    shutil.rmtree(repo.git_dir)  # first: what says whose it is must be there as long as anything is
    shutil.rmtree(directory)


def _remove_empty(directory: Path) -> None:
    for above, _inner, _files in os.walk(directory, topdown=False):
        try:
            os.rmdir(above)
        except OSError:
            continue
