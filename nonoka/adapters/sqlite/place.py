"""Whether an open store is still the file at its path, and what to save if it isn't.

SQLite goes on writing into files that were unlinked (``git clean -xfd`` deletes ``.nonoka/``), and every commit
succeeds: faults.md would call that lost. So each write transaction looks, with its lock in hand.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from nonoka.adapters.sqlite import location
from nonoka.errors import StoreVanished

_Identity = tuple[int, int] | None


class Place:
    """The path of a store, and which files were there when it was opened.

    What SQLite keeps beside the store belongs to it: ``-wal`` holds the newest commits, ``-shm`` the locks.
    Both are there as long as any connection is open.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._beside = tuple(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
        self._names = tuple(
            map(str, (path, *self._beside))
        )  # each write asks: paths would cost half as much again
        self._opened = _identity(path)
        self._opened_beside = tuple(map(_identity, self._beside))
        self._saved: str | None = None

    def is_kept(self) -> bool:
        """Whether the files at the path are those that were opened."""
        return tuple(map(_identity, self._names)) == (self._opened, *self._opened_beside)

    def may_be_closed(self) -> bool:
        """Whether SQLite may close the store as it always does.

        The last connection that is closed writes its -wal into the file: if others have another one by now, over
        what they committed. (Of a file that was itself removed or replaced SQLite knows that.)
        """
        now = tuple(map(_identity, self._beside))
        return _identity(self._path) != self._opened or all(
            found in (was, None) for was, found in zip(self._opened_beside, now, strict=True)
        )

    def rescue(self, db: sqlite3.Connection) -> StoreVanished:
        """Save what the connection still sees, once and never over a file; returns the error to raise.

        Where only what lies beside the store was removed, into the store itself; where the store was, to its
        own path; where others have made files of those names meanwhile, beside them.
        """
        if self._saved is not None:
            return StoreVanished(self._saved)
        try:
            told = self._save(db)
        except (OSError, sqlite3.Error) as error:
            return StoreVanished(
                f"the store {self._path} was taken away while it was in use; what it held can't be written "
                f"back: {error}"
            )
        self._saved = told
        return StoreVanished(told)

    def _save(self, db: sqlite3.Connection) -> str:
        if _identity(self._path) != self._opened:
            return self._save_all(db)
        gone = [
            (path.name, _identity(path))
            for path, was in zip(self._beside, self._opened_beside, strict=True)
            if _identity(path) != was
        ]
        what = " and ".join(name for name, _ in gone)
        if any(found is not None for _, found in gone):
            done = self._copy(db, self._rescued())
            return f"{what} of the store {self._path} was replaced while it was in use; {done}"
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        told = f"{what} of the store {self._path} was removed while it was in use"
        return f"{told}; what it held is written to {self._path}"

    def _save_all(self, db: sqlite3.Connection) -> str:
        removed = _identity(self._path) is None
        if not removed and _written_back_from(self._path) == self._mark():
            return (
                f"the store {self._path} was removed while it was in use; another process has written back what "
                "it held"
            )
        what = "removed" if removed else "replaced by another file"
        done = self._copy(db, self._path if removed else self._rescued())
        return f"the store {self._path} was {what} while it was in use; {done}"

    def _mark(self) -> str:
        return f"{self._opened}"

    def _rescued(self) -> Path:
        return self._path.with_name(self._path.name + ".rescued")

    def _copy(self, db: sqlite3.Connection, target: Path) -> str:
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.rescue")
        try:
            if self._path.parent.parent.is_dir():
                location.prepare_directory(self._path.parent)
            db.execute("VACUUM INTO ?", (str(temporary),))
            temporary.chmod(0o600)
            _note(temporary, self._mark())
            if target == self._path:
                self._remove_beside()
            os.link(temporary, target)
        except FileExistsError:
            return f"what it held is in {target} already"
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
        return f"what it held is written to {target}"

    def _remove_beside(self) -> None:
        # Left there, SQLite would take the removed file's newest commits for those of the new one.
        for path, was in zip(self._beside, self._opened_beside, strict=True):
            if was is not None and _identity(path) == was:
                path.unlink()


def _note(copy: Path, mark: str) -> None:
    with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as db:
        db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('written_back_from', ?)", (mark,))


def _written_back_from(path: Path) -> str | None:
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            found = db.execute("SELECT value FROM meta WHERE key = 'written_back_from'").fetchone()
    except sqlite3.Error:
        return None
    return None if found is None else str(found[0])


def _identity(path: Path | str) -> _Identity:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
