"""Whether an open store is still the file at its path, and what to save if it isn't.

SQLite goes on writing into a file that was unlinked (``git clean -xfd`` deletes ``.nonoka/``), and every commit
succeeds: faults.md would call that lost. The store looks at each heartbeat and before each durable commit.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from nonoka.adapters.sqlite import location
from nonoka.errors import StoreVanished


class Place:
    """The path of a store, and which file was there when it was opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened = _identity(path)

    def is_kept(self) -> bool:
        """Whether the file at the path is the one that was opened."""
        return _identity(self._path) == self._opened

    def rescue(self, db: sqlite3.Connection) -> StoreVanished:
        """Write the store back from its connection, never over a file; returns the error to raise.

        To its own path where nothing is there any more, else beside it.
        """
        removed = _identity(self._path) is None
        target = self._path if removed else self._path.with_name(self._path.name + ".rescued")
        what = "removed" if removed else "replaced by another file"
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.rescue")
        try:
            if self._path.parent.parent.is_dir():
                location.prepare_directory(self._path.parent)
            db.execute("VACUUM INTO ?", (str(temporary),))
            temporary.chmod(0o600)
            os.link(temporary, target)
            done = f"what it held is written to {target}"
        except FileExistsError:
            done = f"what it held is in {target} already"
        except (OSError, sqlite3.Error) as error:
            done = f"what it held can't be written back: {error}"
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
        return StoreVanished(f"the store {self._path} was {what} while it was in use; {done}")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
