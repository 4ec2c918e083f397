"""Looks at a store's file without making, migrating or changing it. The app calls this for ``doctor``."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from nonoka.adapters.sqlite import location, schema
from nonoka.errors import StoreError
from nonoka.records.condition import StoreCondition

_OTHER = "name another file with --db (or NONOKA_DB)"
_BESIDE = ("", "-wal", "-shm")


def condition(path: Path) -> StoreCondition:
    """What can be said of the file at this path; what is wrong with it is in ``trouble``."""
    found = StoreCondition(
        path=str(path),
        exists=False,
        filesystem=location.filesystem_of(path),
        known_schema=schema.newest_version(),
    )
    try:
        looked = {"exists": True, **_looked_into(path)} if location.exists(path) else _looked_at_place(path)
        return found.model_copy(update=looked)
    except (StoreError, OSError) as error:
        return found.model_copy(update={"trouble": str(error)})
    except sqlite3.Error as error:
        told = f"the store {path} can't be read: {error}; name another file with --db (or NONOKA_DB)"
        return found.model_copy(update={"trouble": told})


def _looked_into(path: Path) -> dict[str, object]:
    location.refuse_unfit(path)
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as db:
        version = schema.version_of(db)
    schema.refuse_newer(version, str(path))
    return {
        "schema_version": version,
        "others_may": _others_may(path),
        "size_bytes": sum(_size(path.with_name(path.name + suffix)) for suffix in _BESIDE),
    }


def _looked_at_place(path: Path) -> dict[str, object]:
    location.refuse_unsafe_filesystem(path)
    place = next(parent for parent in path.absolute().parents if parent.exists())
    if not place.is_dir():
        return {"trouble": f"the store {path} can't be made: {place} is no directory; {_OTHER}"}
    if not os.access(place, os.W_OK | os.X_OK):
        return {"trouble": f"the store {path} can't be made: {place} can't be written by this user; {_OTHER}"}
    return {}


def _others_may(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o077) and bool(path.parent.stat().st_mode & 0o011)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
