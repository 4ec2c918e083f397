"""Opens the store alone: for the commands that only look, or only leave a signal. Loads no engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from nonoka.adapters.clock import SystemClock
from nonoka.adapters.sqlite import location
from nonoka.adapters.sqlite.condition import condition
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.app.brokers import redis_hints
from nonoka.app.sending import SendingStore
from nonoka.ports.clock import Clock
from nonoka.ports.store import Store
from nonoka.records.condition import CheckedRule, StoreCondition
from nonoka.settings import Settings


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[tuple[Store, Clock]]:
    """The store of these settings, made or migrated if need be, and the clock; closed at the end.

    Raises StoreError.
    """
    clock = SystemClock()
    hints = redis_hints(settings, clock)
    store = await (SqliteStore if hints is None else SendingStore).open(settings.db, clock)
    try:
        if isinstance(store, SendingStore) and hints is not None:
            store.hints = hints
        yield store, clock
    finally:
        await store.close()
        if hints is not None:
            await asyncio.to_thread(hints.close)


def store_exists(settings: Settings) -> bool:
    """Whether there is a store yet: to look for something makes none. Raises StoreError where it can't be told."""
    return location.exists(settings.db)


def store_condition(settings: Settings) -> StoreCondition:
    """What can be said of the store's file without making, migrating or changing it."""
    return condition(settings.db)


async def check_store(settings: Settings, *, repair: bool) -> list[CheckedRule]:
    """Each rule of the store with what breaks it, repaired if that is asked for. Raises StoreError."""
    from nonoka.adapters.sqlite.store_check.check import check  # noqa: PLC0415  the one command that needs it

    return await check(settings.db, now_ms=SystemClock().now_ms(), repair=repair)


async def back_up_store(settings: Settings, target: Path, *, overwrite: bool) -> int:
    """The store as of one moment is in that file; returns its bytes. Raises UsageError, StoreError."""
    from nonoka.adapters.sqlite.backup import back_up  # noqa: PLC0415  the one command that needs it

    location.refuse_unfit(settings.db)
    return await back_up(settings.db, target, overwrite=overwrite)
