"""One suite for every adapter of the store port: ``store`` is each of them in turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nonoka.adapters.memory.store import MemoryStore
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.ports.store import Store
from tests.support.manual_clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store
    if request.param == "memory":
        opened = MemoryStore(clock)
    else:
        opened = await SqliteStore.open(tmp_path / "sessions.db", clock)
    yield opened
    await opened.close()
