"""What the engine is given: the outside, behind ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from nonoka.agents.coroutines import ToolLoops
from nonoka.agents.registry import Registry
from nonoka.ports.artifacts import Artifacts
from nonoka.ports.broker import Broker
from nonoka.ports.clock import Clock
from nonoka.ports.model import Models
from nonoka.ports.processes import Processes
from nonoka.ports.store import Store
from nonoka.ports.workspace import Snapshots, WorkspaceUse, Worktrees
from nonoka.records.retention import Retention


def _none_forbidden() -> frozenset[tuple[int, int]]:
    return frozenset()


def _none_beside() -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True, slots=True)
class Ports:
    """Every port, as ``app`` chose them.

    ``environ`` is what commands' environments are made from. ``forbidden_files`` gives (device, inode) of
    the files that no tool may open. ``tool_loops`` are those of async tools; without them these share the loop of
    this process, which they must not block. ``sessions_beside`` gives the sessions of other stores whose artifacts
    and snapshots lie where this one's do; it may block, and raises StoreError where that can't be told.
    ``retention`` is what a collection goes by.
    """

    store: Store
    broker: Broker
    clock: Clock
    models: Models
    processes: Processes
    artifacts: Artifacts
    snapshots: Snapshots
    workspace_use: WorkspaceUse
    worktrees: Worktrees
    agents: Registry
    environ: Mapping[str, str] = field(default_factory=dict)
    forbidden_files: Callable[[], frozenset[tuple[int, int]]] = _none_forbidden
    tool_loops: ToolLoops | None = None
    sessions_beside: Callable[[], frozenset[str]] = _none_beside
    retention: Retention = field(default_factory=Retention)
