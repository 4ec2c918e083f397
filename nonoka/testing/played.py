"""The ports of a played process: its own model, perhaps its own clock and store, and boundaries around all."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nonoka.adapters.artifacts import ArtifactFiles
from nonoka.adapters.brokers.silent import SilentBroker
from nonoka.adapters.clock import SystemClock
from nonoka.adapters.processes import LocalProcesses
from nonoka.adapters.sqlite.other_stores import holds_workspace
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.adapters.workspace import GitSnapshots, GitWorktrees, MarkedUse
from nonoka.agents.registry import Registry
from nonoka.engine.ports import Ports
from nonoka.ports.clock import Clock
from nonoka.ports.store import Store
from nonoka.settings import Settings
from nonoka.testing.boundaries import Boundaries
from nonoka.testing.processes import MortalProcesses
from nonoka.testing.scripted_model import ScriptedModel, ScriptedModels


@asynccontextmanager
async def played_ports(
    settings: Settings,
    agents: Registry,
    model: ScriptedModel,
    clock: Clock | None,
    store: Store | None,
    boundaries: Boundaries,
) -> AsyncIterator[Ports]:
    """The ports of a process; where it has died at a boundary, others find its workers dead after the end."""
    clock = clock or SystemClock()
    processes = MortalProcesses(LocalProcesses(settings.home / "workers", clock))
    used = store or await SqliteStore.open(settings.db, clock)
    try:
        yield boundaries.wrap(
            Ports(
                store=used,
                broker=SilentBroker(),
                clock=clock,
                models=ScriptedModels(model),
                processes=processes,
                artifacts=ArtifactFiles(settings.home / "artifacts"),
                snapshots=GitSnapshots(settings.home, clock),
                workspace_use=MarkedUse(settings.db, "played", holds_workspace),
                worktrees=GitWorktrees(),
                agents=agents,
                environ=dict(os.environ),
            )
        )
    finally:
        if boundaries.dead:
            processes.die()
        if store is None:
            await used.close()
