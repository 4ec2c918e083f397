"""Carries a rollback out. Killed anywhere and begun again, it ends the same way."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from nonoka.adapters.workspace.index_update import sync_file_system
from nonoka.adapters.workspace.own_directory import own_directory
from nonoka.adapters.workspace.paths import look_at, parents
from nonoka.adapters.workspace.private_repository import PrivateRepository
from nonoka.adapters.workspace.rollback_plan import Difference, Plan
from nonoka.adapters.workspace.writing import Writer, blobs_of, make_directories


def carry_out(repo: PrivateRepository, plan: Plan) -> None:
    """The workspace is as the plan says; what could not be done moves to what the plan keeps."""
    if not (plan.remove or plan.remove_directories or plan.make_directories or plan.write):
        return
    root = os.fsencode(repo.workspace)
    attempts = _Attempts(plan.kept)
    plan.remove = [path for path in plan.remove if attempts.succeed(path, partial(_remove, root, path))]
    plan.remove_directories = [path for path in plan.remove_directories if _remove_directory(root, path)]
    plan.make_directories = [
        path
        for path in plan.make_directories
        if attempts.succeed(path, partial(make_directories, root, [*parents(path), path]))
    ]
    with stage(repo.workspace, repo.git_dir.parent.name) as directory, blobs_of(repo.git()) as blobs:
        writer = Writer(root, os.fsencode(directory), blobs)
        plan.write = [
            each for each in plan.write if attempts.succeed(each.path, partial(_write, repo, writer, each))
        ]
    sync_file_system(root)


@contextlib.contextmanager
def stage(workspace: Path, name: str) -> Iterator[Path]:
    """An empty directory of ours on the workspace's file system, where no snapshot looks."""
    directory = own_directory(workspace) / f"restoring-{name}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class _Attempts:
    """Notes what the file system refuses, and goes on."""

    def __init__(self, kept: dict[bytes, str]) -> None:
        self._kept = kept

    def succeed(self, path: bytes, action: Callable[[], None]) -> bool:
        try:
            action()
        except OSError as error:
            self._kept[path] = f"could not be changed ({error.strerror or error})"
            return False
        return True


def _write(repo: PrivateRepository, writer: Writer, each: Difference) -> None:
    repo.stop.check()
    writer.write(each.path, each.mode or 0, each.blob)


def _remove(root: bytes, path: bytes) -> None:
    for above in parents(path):
        found = look_at(root, above)
        if found is None or not stat.S_ISDIR(found.st_mode):
            return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(root, path))


def _remove_directory(root: bytes, path: bytes) -> bool:
    try:
        os.rmdir(os.path.join(root, path))
    except OSError:
        return False  # something has come into it; it is no longer only what was made since
    return True
