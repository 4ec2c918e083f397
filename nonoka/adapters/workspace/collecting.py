"""Removes snapshots that nobody keeps, and frees their space."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection
from pathlib import Path

from nonoka.adapters.workspace.git import Git
from nonoka.adapters.workspace.kept import REFS
from nonoka.adapters.workspace.memory import forget_tree
from nonoka.adapters.workspace.private_repository import PrivateRepository, private_repository, workspace_of
from nonoka.adapters.workspace.stopping import Stop
from nonoka.records.workspace import Collected


def collect(home: Path, keep: Collection[str], older_than_ms: int, stop: Stop, *, dry_run: bool) -> Collected:
    """In every private repository under this home, one after the other, each under its lock."""
    base = home / "snapshots"
    before = size(base)
    removed: list[str] = []
    for directory in sorted(base.iterdir()) if base.is_dir() else []:
        workspace = workspace_of(directory)
        if workspace is None:
            continue
        with private_repository(home, workspace, stop) as repo:
            removed += _collect_one(repo, keep, older_than_ms, dry_run=dry_run)
            if not dry_run and not workspace.exists() and not _refs(repo.git()):
                shutil.rmtree(directory)
    return Collected(removed=tuple(removed), bytes_before=before, bytes_after=size(base))


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


def _collect_one(
    repo: PrivateRepository, keep: Collection[str], older_than_ms: int, *, dry_run: bool
) -> list[str]:
    git = repo.git()
    gone = {
        ref: snapshot
        for ref, (snapshot, at_ms) in _refs(git).items()
        if snapshot not in keep and at_ms <= older_than_ms
    }
    if not dry_run:
        # all refs first, in one transaction: no object goes while a ref still names it
        given = "".join(f"delete {ref}\n" for ref in gone)
        if gone:
            git.run("update-ref", "--stdin", given=given.encode())
        _remove_empty(repo.git_dir / REFS)
        _free_space(repo, git)
    return sorted(gone.values())


def _refs(git: Git) -> dict[str, tuple[str, int]]:
    """Each ref, the snapshot it names, and when that was taken."""
    listed = git.run("for-each-ref", "--format=%(refname) %(objectname) %(contents:subject)", REFS)
    found = {}
    for line in listed.decode().splitlines():
        ref, snapshot, message = line.split(" ", 2)
        found[ref] = (snapshot, int(json.loads(message)["at_ms"]))
    return found


def _free_space(repo: PrivateRepository, git: Git) -> None:
    """One pack of what is reachable, from refs or the index; everything else goes.

    Nothing is being added meanwhile: whoever takes a snapshot holds the lock that we hold.
    """
    for begun in (repo.git_dir / "objects" / "pack").glob(".tmp-*"):
        begun.unlink()  # by a collection that was killed
    forget_tree(repo.git_dir)
    git.run("pack-refs", "--all", "--prune")
    git.run("repack", "-a", "-d", "-q", "--no-write-bitmap-index")
    git.run("prune", "--expire=now")


def _remove_empty(directory: Path) -> None:
    for above, _inner, _files in os.walk(directory, topdown=False):
        try:
            os.rmdir(above)
        except OSError:
            continue
