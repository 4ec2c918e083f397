"""The store's schema: numbered migrations, each in one transaction with the record of it."""

from __future__ import annotations

import sqlite3
from functools import cache, partial
from importlib.resources import files
from pathlib import Path

from nonoka.adapters.sqlite import free_pages
from nonoka.adapters.sqlite.adoption.legacy_file import is_legacy, set_aside
from nonoka.adapters.sqlite.connection import Connection
from nonoka.errors import StoreError, StoreTooNew

#: The page of a new store. A turn changes a dozen pages, and a commit writes them whole: SQLite's own 4,096 bytes
#: cost almost twice as much, 1,024 would break up each message of 1 KB (measured in benchmarks/length.py).
PAGE_BYTES = 2_048


@cache
def migrations() -> tuple[tuple[int, str, str], ...]:
    """(number, name, SQL) of each migration, in order."""
    found = []
    for file in files(__package__).joinpath("migrations").iterdir():
        if file.name.endswith(".sql"):
            number, _, name = file.name.removesuffix(".sql").partition("_")
            found.append((int(number), name, file.read_text(encoding="utf-8")))
    return tuple(sorted(found))


def newest_version() -> int:
    """The schema that this nonoka reads and writes."""
    return migrations()[-1][0]


async def migrate(db: Connection, path: str, now_ms: int) -> None:
    """The store has this nonoka's schema. Raises StoreTooNew, naming the file, and changes nothing then."""
    version = await db.outside(version_of)
    refuse_newer(version, path)
    if version == 0:
        await db.outside(partial(_refuse_foreign, path=path))
        await db.outside(lambda c: c.execute(f"PRAGMA page_size = {PAGE_BYTES}"))  # a file keeps the one it has
        # Before anything is written: what a file is made with stays.
        await db.outside(free_pages.prepare)
    # Asked for each time: a copy that was put in the file's place may be in another mode.
    await db.outside(lambda c: c.execute("PRAGMA journal_mode = WAL").fetchone())
    if version == newest_version():
        return
    if version == 0 and await db.outside(is_legacy):
        await db.write(partial(_adopt, path=path, now_ms=now_ms), durable=True)
    for number, name, text in migrations():
        await db.write(partial(apply, number=number, name=name, text=text, now_ms=now_ms), durable=True)


def _refuse_foreign(db: sqlite3.Connection, *, path: str) -> None:
    # In this order, for another process may be making or adopting it meanwhile.
    if is_legacy(db):
        return
    found = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchone()
    if found is not None and version_of(db) == 0:
        raise StoreError(
            f"{path} is the database of another program (it has a table {found[0]!r}); "
            "name another file with --db (or NONOKA_DB)"
        )


def _adopt(db: sqlite3.Connection, *, path: str, now_ms: int) -> None:
    # All in one transaction: a crash leaves the old file as it was. Another process may have been first.
    if not is_legacy(db):
        return
    from nonoka.adapters.sqlite.adoption.adopt import adopt  # noqa: PLC0415  needed once in a file's life

    set_aside(db)
    for number, name, text in migrations():
        apply(db, number=number, name=name, text=text, now_ms=now_ms)
    adopt(db, Path(path), now_ms)


def version_of(db: sqlite3.Connection) -> int:
    """The schema that the file has now; 0 for a new one."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def refuse_newer(version: int, path: str) -> None:
    """Raise StoreTooNew if the file's schema is beyond ours."""
    if version > newest_version():
        raise StoreTooNew(
            f"{path} has schema {version}, written by a newer nonoka; this one knows up to "
            f"{newest_version()}: upgrade it, or name another file with --db"
        )


def apply(db: sqlite3.Connection, *, number: int, name: str, text: str, now_ms: int) -> None:
    """This migration, and the record of it, are in the caller's transaction; nothing if it was applied before."""
    if version_of(db) >= number:
        return
    for statement in _statements(text):
        db.execute(statement)
    db.execute(
        "CREATE TABLE IF NOT EXISTS migrations"
        " (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT"
    )
    db.execute("INSERT INTO migrations VALUES (?, ?, ?)", (number, name, now_ms))
    db.execute(f"PRAGMA user_version = {number}")


def _statements(text: str) -> list[str]:
    # executescript() would commit the transaction that a migration must share with its record.
    found, current = [], ""
    for line in text.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            found.append(current)
            current = ""
    return found
