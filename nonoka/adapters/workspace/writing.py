"""Puts a snapshot's files into a directory, each whole or not at all, and never through a link."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import IO

from nonoka.adapters.workspace.git import Git
from nonoka.adapters.workspace.paths import BESIDE, look_at, parents
from nonoka.errors import WorkspaceError

_CHUNK = 1 << 20
_LINK = 0o120000


class Blobs:
    """The contents of objects, one after the other, from one git process."""

    def __init__(self, to_git: IO[bytes], from_git: IO[bytes]) -> None:
        self._to, self._from = to_git, from_git

    def copy(self, name: str, target: IO[bytes]) -> None:
        """The object's content is written there. WorkspaceError where it is missing."""
        self._to.write(name.encode() + b"\n")
        self._to.flush()
        first = self._from.readline().split()
        if len(first) != 3:
            raise WorkspaceError(f"the object {name} is missing from the store of snapshots")
        left = int(first[2])
        while left:
            part = self._from.read(min(left, _CHUNK))
            if not part:
                raise WorkspaceError(f"the object {name} could not be read whole")
            target.write(part)
            left -= len(part)
        self._from.read(1)


@contextlib.contextmanager
def blobs_of(git: Git) -> Iterator[Blobs]:
    """Open for as long as the block runs."""
    with git.start("cat-file", "--batch") as running:
        yield Blobs(*running.pipes)
        running.finish()


class Writer:
    """Writes into ``root``; ``stage`` is a directory of ours on the same file system, where files are made."""

    def __init__(self, root: bytes, stage: bytes, blobs: Blobs) -> None:
        self._root, self._stage, self._blobs = root, stage, blobs
        self._count = 0

    def write(self, path: bytes, mode: int, blob: str) -> None:
        """The file is as it was in the snapshot. Raises OSError, WorkspaceError."""
        make_directories(self._root, parents(path))
        target = os.path.join(self._root, path)
        found = look_at(self._root, path)
        if found is not None and stat.S_ISDIR(found.st_mode):
            os.rmdir(target)
        self._count += 1
        staged = os.path.join(self._stage, b"%d" % self._count)
        if mode == _LINK:
            self._make_link(staged, blob)
        else:
            self._make_file(staged, mode, blob, found)
        _move(staged, target)

    def _make_link(self, staged: bytes, blob: str) -> None:
        with open(staged, "w+b") as file:
            self._blobs.copy(blob, file)
            file.seek(0)
            to = file.read()
        os.unlink(staged)
        os.symlink(to, staged)

    def _make_file(self, staged: bytes, mode: int, blob: str, found: os.stat_result | None) -> None:
        descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode & 0o777)
        with open(descriptor, "wb") as file:
            self._blobs.copy(blob, file)
            if found is not None and stat.S_ISREG(found.st_mode):
                os.fchmod(file.fileno(), _permissions(stat.S_IMODE(found.st_mode), mode))


def make_directories(root: bytes, directories: list[bytes]) -> None:
    """They are there; each is a directory, none a link to one. Raises NotADirectoryError."""
    for directory in directories:
        found = look_at(root, directory)
        if found is None:
            os.mkdir(os.path.join(root, directory))
        elif not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "no directory", directory)


def _permissions(present: int, wanted: int) -> int:
    """Git keeps whether a file is executable; the rest of its mode stays as it is."""
    if not wanted & 0o100:
        return present & ~0o111
    return present | ((present & 0o444) >> 2) | 0o100


def _move(staged: bytes, target: bytes) -> None:
    try:
        os.rename(staged, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy_across(staged, target)


def _copy_across(staged: bytes, target: bytes) -> None:
    """A file system is mounted inside the workspace: the file is made beside its place there."""
    beside = os.path.join(os.path.dirname(target), BESIDE)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(beside)
    if os.path.islink(staged):
        os.symlink(os.readlink(staged), beside)
    else:
        _copy_file(staged, beside)
    os.rename(beside, target)
    os.unlink(staged)


def _copy_file(staged: bytes, beside: bytes) -> None:
    mode = stat.S_IMODE(os.stat(staged).st_mode)
    with open(staged, "rb") as source, open(beside, "xb") as copy:
        while part := source.read(_CHUNK):
            copy.write(part)
        os.fchmod(copy.fileno(), mode)
