"""Writes a snapshot into a directory of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from nonoka.adapters.workspace.git import items
from nonoka.adapters.workspace.kept import Kept
from nonoka.adapters.workspace.own_directory import own_directory
from nonoka.adapters.workspace.paths import parents
from nonoka.adapters.workspace.private_repository import PrivateRepository
from nonoka.adapters.workspace.writing import Writer, blobs_of, make_directories
from nonoka.errors import WorkspaceError


def write_out(repo: PrivateRepository, snapshot: Kept, target: Path) -> None:
    """The snapshot's files and directories are in the target. WorkspaceError if there is something in it.

    But for a ``.git``: the target may be a worktree that has none of its files yet.
    """
    target.mkdir(parents=True, exist_ok=True)
    if any(there.name != ".git" for there in target.iterdir()):
        raise WorkspaceError(f"{str(target)!r} is not empty; name a new directory")
    root = os.fsencode(target)
    for path in map(os.fsencode, snapshot.note.directories):
        make_directories(root, [*parents(path), path])
    stage = own_directory(target) / "written"
    stage.mkdir()
    with blobs_of(repo.git()) as blobs:
        writer = Writer(root, os.fsencode(stage), blobs)
        for (mode, name), path in entries(repo, snapshot.files):
            writer.write(path, mode, name)
    shutil.rmtree(stage.parent)


def entries(repo: PrivateRepository, tree: str) -> Iterator[tuple[tuple[int, str], bytes]]:
    """The mode, the object and the path of each file in a tree."""
    for entry in items(repo.git().run("ls-tree", "-r", "-z", "--full-tree", tree)):
        about, _, path = entry.partition(b"\t")
        mode, _kind, name = about.split(b" ")
        yield (int(mode, 8), name.decode()), path
