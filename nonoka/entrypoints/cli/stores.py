"""Opens the store for commands that only look, or only leave a signal.

They go past ``app``: it loads the whole engine, which would double the time that ``sessions list`` takes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nonoka.adapters.clock import SystemClock
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.errors import AmbiguousSession, UnknownSession
from nonoka.ports.clock import Clock
from nonoka.ports.store import Store
from nonoka.settings import Settings


@asynccontextmanager
async def opened_store(settings: Settings) -> AsyncIterator[tuple[Store, Clock]]:
    """The store and the clock; closed at the end."""
    clock = SystemClock()
    store = await SqliteStore.open(settings.db, clock)
    try:
        yield store, clock
    finally:
        await store.close()


def must_exist(settings: Settings, wanted: str) -> None:
    """Raise UnknownSession where there is no store yet: to look for something makes none."""
    if not settings.db.exists():
        raise UnknownSession(wanted)


async def short_ids(store: Store, session_ids: list[str]) -> list[str]:
    """For each id its beginning, of at least 8 characters, that names no other session of this store."""
    return [await _short_id(store, session_id) for session_id in session_ids]


async def _short_id(store: Store, session_id: str) -> str:
    for length in range(8, len(session_id)):
        try:
            await store.find_session(session_id[:length])
        except AmbiguousSession:
            continue
        return session_id[:length]
    return session_id
