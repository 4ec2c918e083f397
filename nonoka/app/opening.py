"""Opens everything that the engine is given, over this machine's real things."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from nonoka.adapters.artifacts import ArtifactFiles
from nonoka.adapters.brokers.silent import SilentBroker
from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.adapters.processes import LocalProcesses
from nonoka.adapters.sqlite.other_stores import holds_workspace, sessions_beside
from nonoka.adapters.workspace import GitSnapshots, GitWorktrees, MarkedUse
from nonoka.agents.registry import Registry
from nonoka.app.sending import SendingStore
from nonoka.app.stores import open_store
from nonoka.engine.ports import Ports
from nonoka.ports.broker import Broker
from nonoka.ports.store import Store
from nonoka.records.retention import Retention
from nonoka.settings import Settings

#: May replace ports by others around them; what tests use to count and to crash.
Wrap = Callable[[Ports], Ports]


@asynccontextmanager
async def open_ports(
    settings: Settings,
    *,
    broker: Broker | None = None,
    agents: Registry | None = None,
    wrap: Wrap | None = None,
) -> AsyncIterator[Ports]:
    """The ports over this machine's real things; the store is closed at the end. Raises StoreError."""
    async with open_store(settings) as (store, clock):
        ports = Ports(
            store=store,
            broker=broker or await _broker(store),
            clock=clock,
            models=ModelCatalog(os.environ),
            processes=LocalProcesses(settings.home / "workers", clock),
            artifacts=ArtifactFiles(settings.home / "artifacts"),
            snapshots=GitSnapshots(
                settings.home,
                clock,
                max_file_bytes=round(settings.snapshot_file_mb * 1_000_000),
                anywhere=settings.any_workspace,
            ),
            workspace_use=MarkedUse(settings.db, await store.store_id(), holds_workspace),
            worktrees=GitWorktrees(),
            agents=agents or Registry(),
            environ=dict(os.environ),
            forbidden_files=lambda: _identities(settings.db),
            sessions_beside=lambda: sessions_beside(settings.db),
            retention=Retention(keep_days=settings.keep_days, snapshots_mb=settings.snapshots_mb),
        )
        yield wrap(ports) if wrap else ports


async def _broker(store: Store) -> Broker:
    return await store.bind_hints() if isinstance(store, SendingStore) else SilentBroker()


def _identities(db: Path) -> frozenset[tuple[int, int]]:
    found = set()
    for path in (db, *(db.with_name(db.name + suffix) for suffix in ("-wal", "-shm", "-journal"))):
        try:
            status = path.stat()
        except OSError:
            continue
        found.add((status.st_dev, status.st_ino))
    return frozenset(found)
