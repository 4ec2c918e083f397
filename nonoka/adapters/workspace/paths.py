"""Paths inside a workspace, as bytes: how they are shown, and looked at without ever following a link."""

from __future__ import annotations

import os
import stat

#: Our own directory: never in a snapshot, never touched by a rollback.
STORE_DIR = b".nonoka"
#: A file that a rollback is making beside its place, where it can't make it in our directory.
BESIDE = b".nonoka-restored"


def shown(path: bytes) -> str:
    """The path as text; bytes that aren't UTF-8 as ``\\xNN``."""
    return path.decode("utf-8", "backslashreplace")


def never_ours(path: bytes) -> bool:
    """Whether the path is git's own or ours: no part of any snapshot."""
    parts = path.split(b"/")
    return STORE_DIR in parts or b".git" in parts or parts[-1] == BESIDE


def unkeepable(path: bytes) -> bool:
    """Whether git refuses the name: ``.GIT`` in any case."""
    return any(part.lower() == b".git" for part in path.split(b"/"))


def parents(path: bytes) -> list[bytes]:
    """The directories above a path, from the top, without the workspace itself."""
    parts = path.split(b"/")
    return [b"/".join(parts[:n]) for n in range(1, len(parts))]


def look_at(root: bytes, path: bytes) -> os.stat_result | None:
    """What is at this path, None where nothing is. A link is looked at, not followed."""
    try:
        return os.lstat(os.path.join(root, path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def is_plain(found: os.stat_result) -> bool:
    """Whether it is what a snapshot can hold: a regular file or a symlink."""
    return stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)


def changed_at_ms(found: os.stat_result) -> int:
    """When the file was last changed, its mode and name included: ms UTC by the file system's clock."""
    return max(found.st_mtime_ns, found.st_ctime_ns) // 1_000_000


def only_directories(path: bytes) -> list[bytes] | None:
    """The innermost directories beneath, where there is nothing but directories; None: there is more."""
    leaves: list[bytes] = []
    waiting = [path]
    while waiting:
        directory = waiting.pop()
        inner = []
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False) or entry.name in (b".git", STORE_DIR):
                        return None
                    inner.append(entry.path)
        except OSError:
            return None
        waiting += inner
        if not inner:
            leaves.append(directory)
    return leaves
