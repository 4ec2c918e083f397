"""A store whose file is taken away under it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.errors import StoreVanished
from tests.support.manual_clock import ManualClock
from tests.support.sessions import created


async def test_a_removed_store_is_noticed_at_the_next_heartbeat_and_written_back(tmp_path: Path) -> None:
    """With everything that was committed, also after it was unlinked."""
    file, clock = tmp_path / ".nonoka" / "sessions.db", ManualClock()
    store = await SqliteStore.open(file, clock)
    before = await created(store, clock)
    shutil.rmtree(file.parent)
    after = await created(store, clock)
    with pytest.raises(
        StoreVanished, match=r"removed while it was in use; what it held is written to .*sessions\.db"
    ):
        await store.renew("w1")
    await store.close()
    again = await SqliteStore.open(file, clock)
    assert {line.index.session_id for line in await again.list_sessions(limit=10)} == {before, after}
    await again.close()
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_store_is_never_written_back_over_another_file(tmp_path: Path) -> None:
    """Somebody made a new one meanwhile: both are there, and the message says where."""
    file, clock = tmp_path / ".nonoka" / "sessions.db", ManualClock()
    store = await SqliteStore.open(file, clock)
    old = await created(store, clock)
    shutil.rmtree(file.parent)
    other = await SqliteStore.open(file, clock)
    new = await created(other, clock)
    with pytest.raises(StoreVanished, match=r"replaced by another file.*sessions\.db\.rescued"):
        await store.renew("w1")
    with pytest.raises(StoreVanished, match="already"):
        await store.renew("w1")
    assert [line.index.session_id for line in await other.list_sessions(limit=10)] == [new]
    await store.close()
    await other.close()
    rescued = await SqliteStore.open(file.with_name("sessions.db.rescued"), clock)
    assert [line.index.session_id for line in await rescued.list_sessions(limit=10)] == [old]
    await rescued.close()


async def test_a_store_whose_whole_project_is_gone_says_that_it_cannot_be_written_back(tmp_path: Path) -> None:
    """The project isn't made anew for it."""
    project = tmp_path / "project"
    store = await SqliteStore.open(project / ".nonoka" / "sessions.db", ManualClock())
    shutil.rmtree(project)
    with pytest.raises(StoreVanished, match="can't be written back"):
        await store.renew("w1")
    await store.close()
    assert not project.exists()
