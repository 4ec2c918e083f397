"""A copy of the store while it is written to."""

from __future__ import annotations

import asyncio
import resource
from pathlib import Path

import pytest

from nonoka.adapters.sqlite.backup import back_up
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.adapters.sqlite.store_check.check import check
from nonoka.errors import StoreError, UsageError
from tests.support.manual_clock import ManualClock
from tests.support.sessions import created


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    clock = ManualClock()
    store = await SqliteStore.open(tmp_path / "sessions.db", clock)
    await created(store, clock, session_id="S")
    await store.close()
    return tmp_path / "sessions.db"


def beside(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir())


def write(target: Path, text: str) -> None:
    target.write_text(text)


async def test_a_copy_made_while_others_write_is_sound_and_as_of_one_moment(file: Path, tmp_path: Path) -> None:
    clock, copies = ManualClock(), tmp_path / "copies"
    copies.mkdir()
    store = await SqliteStore.open(file, clock)
    over = asyncio.Event()

    async def keep_writing() -> None:
        while not over.is_set():
            await created(store, clock)

    writing = asyncio.create_task(keep_writing())
    for number in range(5):
        await back_up(file, copies / f"{number}.db")
    over.set()
    await writing
    await store.close()
    for number in range(5):
        assert all(rule.holds for rule in await check(copies / f"{number}.db", now_ms=0))
    assert beside(copies / "x") == [f"{number}.db" for number in range(5)]


async def test_a_copy_in_the_store_s_place_is_the_store(file: Path, tmp_path: Path) -> None:
    """And only its owner can read it."""
    size = await back_up(file, tmp_path / "copy.db")
    copy = await SqliteStore.open(tmp_path / "copy.db", ManualClock())
    assert [line.index.session_id for line in await copy.list_sessions(limit=10)] == ["S"]
    await copy.close()
    status = (tmp_path / "copy.db").stat()
    assert (status.st_mode & 0o777, status.st_size) == (0o600, size)


async def test_what_is_there_already_is_replaced_only_if_asked_for(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    write(target, "mine")
    with pytest.raises(UsageError, match="is there already; name another file, or pass --force"):
        await back_up(file, target)
    assert target.read_text() == "mine"
    await back_up(file, target, overwrite=True)
    assert target.read_bytes().startswith(b"SQLite format 3")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sessions.db", "a file of the store itself"),
        ("sessions.db-wal", "a file of the store itself"),
        ("nowhere/copy.db", "there is no directory"),
        (".", "is a directory"),
    ],
)
async def test_a_target_that_cannot_be_one_is_refused(file: Path, tmp_path: Path, name: str, said: str) -> None:
    before = beside(file)
    with pytest.raises(UsageError, match=said):
        await back_up(file, tmp_path / name, overwrite=True)
    assert beside(file) == before


async def test_a_disk_without_room_for_the_copy_leaves_nothing_behind(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "copies" / "copy.db"
    target.parent.mkdir()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
    try:
        with pytest.raises(StoreError, match=r"the copy .*copy\.db can't be written: .*room"):
            await back_up(file, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert beside(target) == []
