"""A session's rows in memory, and the records that are read from them. Called by the other modules here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from nonoka.decisions.calls import read_calls
from nonoka.decisions.step_merge import merge_steps, merged_runs
from nonoka.records.base import JsonObject
from nonoka.records.event import Event, NewEvent
from nonoka.records.memory import MemoryEntry
from nonoka.records.session import SessionIndex, SessionState
from nonoka.records.signal import Signal
from nonoka.records.step_run import PlanDefinition, StepRun
from nonoka.records.step_update import StepUpdate, UpdateType
from nonoka.records.task import Task, TaskStatus
from nonoka.records.tool import CallState
from nonoka.records.workspace import SnapshotTaken

#: (plan, step, item)
StepPlace = tuple[int, str, int]

LIVE = frozenset({TaskStatus.READY, TaskStatus.RUNNING, TaskStatus.WAITING})


@dataclass(frozen=True)
class KeptPlan:
    """A plan of a session."""

    definition: PlanDefinition
    inputs: JsonObject
    outputs: JsonObject | None = None


@dataclass
class SessionRows:
    """All rows of one session. Records are immutable, so copies share them."""

    index: SessionIndex
    state: SessionState
    version: int = 1
    tasks: dict[str, Task] = field(default_factory=dict)
    #: where each task came among all tasks of the store
    task_order: dict[str, int] = field(default_factory=dict)
    entries: dict[int, MemoryEntry] = field(default_factory=dict)
    #: the positions of entries that are no part of the conversation any more, and since when
    withdrawn: dict[int, int] = field(default_factory=dict)
    updates: dict[tuple[str, UpdateType], StepUpdate] = field(default_factory=dict)
    signals: list[Signal] = field(default_factory=list)
    drained: set[int] = field(default_factory=set)
    events: list[Event] = field(default_factory=list)
    snapshots: list[SnapshotTaken] = field(default_factory=list)
    plans: dict[int, KeptPlan] = field(default_factory=dict)
    steps: dict[StepPlace, StepRun] = field(default_factory=dict)
    step_values: dict[StepPlace, JsonValue] = field(default_factory=dict)
    step_results: dict[StepPlace, JsonValue] = field(default_factory=dict)
    #: the ids of those that are not needed any more
    let_go: set[str] = field(default_factory=set)

    def copy(self) -> SessionRows:
        """The same rows, free to be changed."""
        return replace(
            self,
            tasks=dict(self.tasks),
            task_order=dict(self.task_order),
            entries=dict(self.entries),
            withdrawn=dict(self.withdrawn),
            updates=dict(self.updates),
            signals=list(self.signals),
            drained=set(self.drained),
            events=list(self.events),
            snapshots=list(self.snapshots),
            plans=dict(self.plans),
            steps=dict(self.steps),
            step_values=dict(self.step_values),
            step_results=dict(self.step_results),
            let_go=set(self.let_go),
        )

    @property
    def live_tasks(self) -> list[Task]:
        """The tasks that are ready, running or waiting."""
        return [task for task in self.tasks.values() if task.status in LIVE]

    @property
    def undrained(self) -> tuple[Signal, ...]:
        """The inbox in its order."""
        return tuple(signal for signal in self.signals if signal.seq not in self.drained)

    @property
    def conversation(self) -> list[MemoryEntry]:
        """The entries in their order."""
        return [self.entries[position] for position in sorted(self.standing)]

    @property
    def standing(self) -> Set[int]:
        """The positions that hold an entry of the conversation."""
        return self.entries.keys() - self.withdrawn.keys()

    @property
    def highest_turn(self) -> int:
        """The highest turn number that was ever given; 0 if none was."""
        given = (task.turn for task in self.tasks.values() if task.kind == "turn")
        return max(self.state.turn_count, *given, 0)

    def tell(self, events: Iterable[NewEvent], now: int) -> None:
        """Add to the timeline."""
        for event in events:
            self.events.append(
                Event(
                    session_id=self.index.session_id,
                    seq=len(self.events) + 1,
                    at=now,
                    type=event.type,
                    data=event.data,
                )
            )


def open_calls(rows: SessionRows) -> tuple[CallState, ...]:
    """The calls of the open turn; none if no turn is open, or what asked for them is not in the conversation."""
    turn = rows.state.runtime_state.open_turn
    if turn is None or turn.position not in rows.standing:
        return ()
    return read_calls(turn, rows.entries[turn.position], rows.standing, rows.updates.values())


def holder_of(locks: Mapping[str, str], workspace: str, task_id: str) -> str | None:
    """The task that may change this directory, or one above or below it; another one before this one."""
    found = [owner for other, owner in locks.items() if overlap(other, workspace)]
    return next((owner for owner in found if owner != task_id), found[0] if found else None)


def overlap(one: str, other: str) -> bool:
    """Whether one of two directories is, or is in, the other."""
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def whole_state(rows: SessionRows) -> SessionState:
    """The state with conversation and merged step updates."""
    merged = merge_steps(rows.updates.values())
    if rows.steps:
        merged = merged_runs((run, rows.step_results.get(place)) for place, run in rows.steps.items())
    return rows.state.model_copy(
        update={
            "memory_entries": tuple(rows.conversation),
            "step_statuses": merged.step_statuses,
            "completed_steps": merged.completed_steps,
            "failed_steps": merged.failed_steps,
        }
    )
