"""A copy of a store while others work on it. The app calls this for ``nonoka backup``."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from nonoka.adapters.sqlite.connection import Connection
from nonoka.adapters.sqlite.faults import store_error
from nonoka.errors import StoreError, UsageError


async def back_up(path: Path, target: Path, *, overwrite: bool = False) -> int:
    """The store as of one moment is in the target, private to its owner and on the disk; returns its bytes.

    It is written under another name and then renamed: the target is never half a copy. Raises UsageError,
    StoreError.
    """
    _refuse_unfit(path, target, overwrite=overwrite)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.backup")
    db = await Connection.opened(path)
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        await db.outside(lambda c: _copied(c, path, temporary, target))
        return _put_in_place(temporary, target, overwrite=overwrite)
    except OSError as error:
        raise StoreError(f"the copy {target} can't be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
        await db.close()


def _copied(db: sqlite3.Connection, path: Path, temporary: Path, target: Path) -> None:
    try:
        db.execute("VACUUM INTO ?", (str(temporary),))
        with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as copy:
            copy.execute("PRAGMA journal_mode = WAL").fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
            raise StoreError(
                f"the copy {target} can't be written: {error}; see that there is room for it"
            ) from error
        raise store_error(error, path) from error
    with temporary.open("rb") as written:
        os.fsync(written.fileno())


def _put_in_place(temporary: Path, target: Path, *, overwrite: bool) -> int:
    size = temporary.stat().st_size
    if overwrite:
        temporary.replace(target)
    else:
        try:
            os.link(temporary, target)
        except FileExistsError:
            raise _exists(target) from None
    directory = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    return size


def _refuse_unfit(path: Path, target: Path, *, overwrite: bool) -> None:
    if target.is_dir():
        raise UsageError(f"{target} is a directory; name the file that the copy is to be")
    if not target.parent.is_dir():
        raise UsageError(f"there is no directory {target.parent}; make it first")
    store = [path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal"))]
    if any(one.resolve() == target.resolve() or (one.exists() and _same(one, target)) for one in store):
        raise UsageError(f"{target} is a file of the store itself; name another")
    if target.exists() and not overwrite:
        raise _exists(target)


def _same(one: Path, other: Path) -> bool:
    return other.exists() and one.samefile(other)


def _exists(target: Path) -> UsageError:
    return UsageError(f"{target} is there already; name another file, or pass --force to replace it")
