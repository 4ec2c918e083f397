"""Where the store may lie, and what belongs around it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from nonoka.errors import StoreError, StoreFull

#: File systems on which SQLite's locks or shared memory don't hold (design section 3).
REFUSED = ("nfs", "cifs", "smb", "9p", "fuse", "afs", "ceph", "glusterfs")


#: What is mounted where, as this process sees it.
MOUNTS = "/proc/self/mountinfo"


def prepare(path: Path) -> None:
    """The directory and the file are there, private to their owner. Raises StoreError with a remedy."""
    try:
        refuse_unsafe_filesystem(path)
        prepare_directory(path.parent)
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        refuse_unfit(path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFull(
                f"the store {path} can't be made: {error.strerror}; make room, then try again"
            ) from error
        raise StoreError(
            f"the store {path} can't be opened: {error.strerror or error}; "
            "make it writable, or name another file with --db (or NONOKA_DB)"
        ) from error


def prepare_directory(directory: Path) -> None:
    """The store's directory is there; one named .nonoka is private, and git leaves it alone. Raises OSError."""
    if not directory.exists():
        directory.mkdir(parents=True, mode=0o700)
    if directory.name == ".nonoka":
        _make_private(directory)
        ignore = directory / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")


def exists(path: Path) -> bool:
    """Whether something is at this path. Raises StoreError where this user may not even know."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise StoreError(
            f"the store {path} can't be opened: {error.strerror}; "
            "become its owner, or name another file with --db (or NONOKA_DB)"
        ) from error
    return True


def refuse_unfit(path: Path) -> None:
    """Raise StoreError where what is at this path can't be this user's store. OSError if it can't be told."""
    refuse_unsafe_filesystem(path)
    if not path.is_file():
        what = "a directory" if path.is_dir() else "no regular file"
        raise StoreError(f"the store {path} is {what}; name a file with --db (or NONOKA_DB)")
    if not os.access(path, os.R_OK | os.W_OK):
        raise StoreError(
            f"the store {path} can't be written by this user; become its owner, or name another file with --db"
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        # SQLite keeps its journal beside the file.
        raise StoreError(
            f"the store {path} can't be used: its directory can't be written by this user; become its owner, or "
            "name another file with --db (or NONOKA_DB)"
        )

    for beside in (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm")):
        if beside.exists() and not os.access(beside, os.R_OK | os.W_OK):
            raise StoreError(
                f"the store {path} can't be used: its {beside.name} belongs to {_owner(beside)} and can't "
                f"be written by this user; have it given to the owner of {path.name}, or name another file with "
                "--db (or NONOKA_DB)"
            )


def refuse_unsafe_filesystem(path: Path) -> None:
    """Raise StoreError where SQLite's locking can't be relied on."""
    kind = filesystem_of(path)
    if kind.startswith(REFUSED):
        raise StoreError(
            f"{path} is on a {kind} file system, where SQLite's locks don't hold; "
            "name a file on a local disk with --db (or NONOKA_DB)"
        )


def filesystem_of(path: Path) -> str:
    """The type of the file system that a path is on, "" where it can't be told."""
    place = os.path.realpath(path)
    best, kind = "", ""
    try:
        with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as mounts:
            for line in mounts:
                fields, _, rest = line.partition(" - ")
                mount = _unescaped(fields.split(" ")[4])
                inside = place == mount or place.startswith(mount.rstrip("/") + "/")
                if inside and len(mount) >= len(best):
                    best, kind = mount, rest.split(" ")[0]
    except OSError:
        return ""
    return kind


def _owner(path: Path) -> str:
    try:
        return f"user {path.owner()!r}"
    except KeyError:
        return f"user {path.stat().st_uid}"


def _unescaped(text: str) -> str:
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text


def _make_private(directory: Path) -> None:
    found = directory.stat()
    if found.st_uid == os.getuid() and found.st_mode & 0o077:
        directory.chmod(0o700)
