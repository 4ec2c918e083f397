"""Brings changed files into the private index, and sorts out those that can't be in a snapshot."""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

from nonoka.adapters.workspace.git import Git
from nonoka.adapters.workspace.listing import Listing, take_out
from nonoka.adapters.workspace.note import LeftOut
from nonoka.adapters.workspace.paths import is_plain, look_at, never_ours, parents, unkeepable
from nonoka.adapters.workspace.private_repository import PrivateRepository

_MANY = 32
#: Objects are not brought to the disk one by one; ``sync_file_system`` follows.
UNSYNCED = ("core.fsync=none",)


@dataclass
class Update:
    """What to do with the index. ``gone`` are entries without a file, ``out`` entries whose file stays out."""

    put: list[bytes] = field(default_factory=list)
    gone: list[bytes] = field(default_factory=list)
    out: list[bytes] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def is_large(self) -> bool:
        """Whether one sync of the file system is cheaper than one for each new object."""
        return len(self.put) > _MANY


def sort_out(root: bytes, listing: Listing, more: Iterable[bytes], max_file_bytes: int) -> Update:
    """Each path that may differ, by what is there now."""
    update = Update(gone=list(listing.seeds), left_out=list(listing.unreadable))
    indexed = set(listing.changed)
    real = _RealDirectories(root)
    for path in dict.fromkeys([*listing.changed, *listing.new, *more]):
        if never_ours(path):
            continue
        found = look_at(root, path) if real.holds(path) else None
        if found is None or stat.S_ISDIR(found.st_mode):
            (update.out if path in indexed else update.gone).append(path)
        elif why := _why_left_out(root, path, found, max_file_bytes):
            update.left_out.append(LeftOut(os.fsdecode(path), why, found.st_size, found.st_mtime_ns))
            if path in indexed:
                update.out.append(path)
        else:
            update.put.append(path)
    return update


def apply(repo: PrivateRepository, git: Git, update: Update) -> None:
    """The index has these changes; those of a large update have yet to be synced. GitFailed: a file vanished."""
    if update.out:
        take_out(git, update.out)
    if not update.put and not update.gone:
        return
    git.run(
        *("update-index", "-z", "--add", "--remove", "--replace", "--stdin"),
        given=b"".join(path + b"\0" for path in [*update.gone, *update.put]),
        options=UNSYNCED if update.is_large else (),
    )
    _note_racy(repo, update.put)


def refresh_racy(repo: PrivateRepository, git: Git) -> None:
    """Files that were changed in the second in which the index was written need no second reading any more.

    Git can't tell such a file from one that was changed a moment later, and compares contents each time.
    """
    marker = repo.git_dir / "racy"
    if not marker.exists() or not (repo.git_dir / "index").exists():
        return
    marker.touch()
    if _second(marker.stat()) > _second((repo.git_dir / "index").stat()):
        git.run("update-index", "-q", "--refresh", "--force-write-index", ok=(0, 1))
        marker.unlink()


def sync_file_system(directory: bytes) -> None:
    """All that was written to the file system of this directory is on the disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
        if sync is None or sync(descriptor) != 0:
            os.sync()
    finally:
        os.close(descriptor)


class _RealDirectories:
    """Whether all above a path are directories, not links to some."""

    def __init__(self, root: bytes) -> None:
        self._root = root
        self._known: dict[bytes, bool] = {}

    def holds(self, path: bytes) -> bool:
        return all(self._is_real(directory) for directory in parents(path))

    def _is_real(self, directory: bytes) -> bool:
        if directory not in self._known:
            found = look_at(self._root, directory)
            self._known[directory] = found is not None and stat.S_ISDIR(found.st_mode)
        return self._known[directory]


def _why_left_out(root: bytes, path: bytes, found: os.stat_result, max_file_bytes: int) -> str | None:
    if not is_plain(found):
        return "a pipe, socket or device"
    if unkeepable(path) or (stat.S_ISLNK(found.st_mode) and path.rsplit(b"/")[-1] == b".gitmodules"):
        return "git can't keep a file of this name"
    if stat.S_ISREG(found.st_mode):
        if found.st_size > max_file_bytes:
            return f"{found.st_size} bytes, over the cap of {max_file_bytes}"
        if not os.access(os.path.join(root, path), os.R_OK):
            return "can't be read (Permission denied)"
    return None


def _note_racy(repo: PrivateRepository, put: list[bytes]) -> None:
    """A few such files are read again faster than the index is written again."""
    root, written = os.fsencode(repo.workspace), _second((repo.git_dir / "index").stat())
    found = (look_at(root, path) for path in put)
    if sum(1 for each in found if each is not None and int(each.st_mtime) >= written) > _MANY:
        (repo.git_dir / "racy").touch()


def _second(found: os.stat_result) -> int:
    return int(found.st_mtime)
