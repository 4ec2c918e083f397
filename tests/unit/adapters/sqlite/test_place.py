"""A store whose files are taken away under it."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.errors import StoreVanished
from tests.support.manual_clock import ManualClock
from tests.support.sessions import created

ANOTHER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("CREATE TABLE of_another (a)")
db.execute("INSERT INTO of_another VALUES (1)")
db.close()
"""
WHAT_IS_THERE = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(db.execute("PRAGMA integrity_check").fetchall(), db.execute("SELECT a FROM of_another").fetchall())
"""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / ".nonoka" / "sessions.db"


@pytest.fixture
async def store(file: Path, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(file, clock)
    yield opened
    await opened.close()


def in_another_process(program: str, file: Path) -> str:
    """What it printed. Within one process SQLite's connections share what they know of a file."""
    return subprocess.run([sys.executable, "-c", program, file], check=True, capture_output=True, text=True).stdout


def mode(file: Path) -> int:
    return file.stat().st_mode & 0o777


def remove(file: Path) -> None:
    file.unlink()


async def held(file: Path) -> set[str]:
    """The sessions in the store at this path, for whoever opens it now."""
    store = await SqliteStore.open(file, ManualClock())
    found = {line.index.session_id for line in await store.list_sessions(limit=10)}
    await store.close()
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
    return found


async def test_a_removed_store_is_noticed_at_the_next_commit_and_written_back(
    file: Path, store: SqliteStore, clock: ManualClock
) -> None:
    """With everything that was committed; what comes after is refused, for nobody would find it."""
    before = await created(store, clock)
    shutil.rmtree(file.parent)
    with pytest.raises(
        StoreVanished, match=r"removed while it was in use; what it held is written to .*sessions\.db"
    ):
        await created(store, clock)
    assert await held(file) == {before}
    assert mode(file) == 0o600


async def test_a_heartbeat_notices_it_too(file: Path, store: SqliteStore) -> None:
    shutil.rmtree(file.parent)
    with pytest.raises(StoreVanished):
        await store.renew("w1")


async def test_of_many_processes_one_writes_it_back_and_the_others_say_so(
    file: Path, store: SqliteStore, clock: ManualClock
) -> None:
    """And nothing that one of them committed before is missing."""
    others = [await SqliteStore.open(file, clock) for _ in range(3)]
    wanted = {await created(one, clock) for one in (store, *others)}
    shutil.rmtree(file.parent)
    with pytest.raises(StoreVanished, match="what it held is written to"):
        await store.renew("w1")
    for other in others:
        with pytest.raises(StoreVanished, match="another process has written back what it held"):
            await other.renew("w2")
        await other.close()
    assert await held(file) == wanted
    assert not file.with_name("sessions.db.rescued").exists()


async def test_a_store_is_never_written_back_over_another_file(
    file: Path, store: SqliteStore, clock: ManualClock
) -> None:
    """Somebody made a new one meanwhile: both are there, and the message says where."""
    old = await created(store, clock)
    shutil.rmtree(file.parent)
    other = await SqliteStore.open(file, clock)
    new = await created(other, clock)
    for _ in range(2):
        with pytest.raises(StoreVanished, match=r"replaced by another file.*sessions\.db\.rescued"):
            await store.renew("w1")
    await other.close()
    assert await held(file) == {new}
    assert await held(file.with_name("sessions.db.rescued")) == {old}


async def test_a_removed_file_s_newest_commits_are_not_taken_for_those_of_the_one_written_back(
    file: Path, store: SqliteStore, clock: ManualClock
) -> None:
    """Only ``sessions.db`` was removed: what SQLite kept beside it goes as well."""
    wanted = {await created(store, clock) for _ in range(3)}
    remove(file)
    with pytest.raises(StoreVanished, match="what it held is written to"):
        await store.renew("w1")
    assert await held(file) == wanted


@pytest.mark.parametrize("removed", [("-wal",), ("-shm",), ("-wal", "-shm")], ids=" and ".join)
async def test_what_lies_beside_the_store_is_missed_as_well(
    file: Path, store: SqliteStore, clock: ManualClock, removed: tuple[str, ...]
) -> None:
    """The newest commits are in there, and the locks: those go into the store, the next commit is refused."""
    other = await SqliteStore.open(file, clock)
    wanted = {await created(store, clock), await created(other, clock)}
    for suffix in removed:
        file.with_name(file.name + suffix).unlink()
    with pytest.raises(
        StoreVanished, match=rf"sessions\.db{removed[0]}.* was removed .*; what it held is written to"
    ):
        await created(store, clock)
    with pytest.raises(StoreVanished):
        await created(other, clock)
    await other.close()
    await store.close()
    assert await held(file) == wanted


async def test_who_lost_what_lay_beside_the_store_does_not_write_over_those_who_came_after(
    file: Path, store: SqliteStore, clock: ManualClock
) -> None:
    """Its end is where SQLite would: the last connection that is closed writes its -wal into the file."""
    old = await created(store, clock)
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink()
    in_another_process(ANOTHER, file)
    with pytest.raises(StoreVanished, match=r"was replaced .*sessions\.db\.rescued"):
        await created(store, clock)
    await store.close()
    with pytest.raises(StoreVanished, match="start the process again"):
        await SqliteStore.open(file, clock)
    assert in_another_process(WHAT_IS_THERE, file) == "[('ok',)] [(1,)]\n"
    assert await held(file.with_name("sessions.db.rescued")) == {old}


async def test_a_store_whose_whole_project_is_gone_says_that_it_cannot_be_written_back(
    tmp_path: Path, clock: ManualClock
) -> None:
    """The project isn't made anew for it."""
    project = tmp_path / "project"
    store = await SqliteStore.open(project / ".nonoka" / "sessions.db", clock)
    shutil.rmtree(project)
    with pytest.raises(StoreVanished, match="can't be written back"):
        await store.renew("w1")
    await store.close()
    assert not project.exists()
