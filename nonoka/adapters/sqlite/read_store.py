"""The part of the store that those use who look; none of it writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from nonoka.adapters.sqlite import (
    checkpoints,
    cli_sessions,
    events,
    memory_entries,
    plan_rows,
    plan_steps,
    signals,
    snapshots,
    step_updates,
    tasks,
    workspace_locks,
)
from nonoka.adapters.sqlite.opened_store import OpenedStore
from nonoka.adapters.sqlite.transactions import calls_of
from nonoka.decisions.step_merge import merge_steps, merged_runs
from nonoka.errors import UnknownSession
from nonoka.records.commit import ReadyTask, SessionDetail, SessionLine, Standing
from nonoka.records.event import Event
from nonoka.records.memory import MemoryEntry
from nonoka.records.session import SessionIndex, SessionState, SessionStatus
from nonoka.records.session_filter import ANY_SESSION, SessionFilter
from nonoka.records.step_run import StepInputs, StepRun
from nonoka.records.workload import Workload
from nonoka.records.workspace import SnapshotTaken


class ReadStorePart(OpenedStore):
    """``ports.store.ReadStore`` in SQLite."""

    async def find_session(self, prefix: str) -> SessionIndex:
        return await self._read(lambda db: cli_sessions.by_prefix(db, prefix))

    async def load_session(self, session_id: str) -> SessionState:
        return await self._read(lambda db: _whole(db, session_id))

    async def conversation(self, session_id: str, *, from_position: int = 0) -> list[MemoryEntry]:
        return await self._read(lambda db: memory_entries.from_position(db, session_id, from_position))

    async def withdrawn(self, session_id: str, at: int) -> list[MemoryEntry]:
        return await self._read(lambda db: memory_entries.withdrawn(db, session_id, at))

    async def list_sessions(self, *, limit: int, matching: SessionFilter = ANY_SESSION) -> list[SessionLine]:
        return await self._read(lambda db: cli_sessions.newest(db, limit, matching))

    async def count_sessions(self) -> dict[str, int]:
        return await self._read(checkpoints.count)

    async def ready_tasks(self, *, limit: int) -> list[ReadyTask]:
        return await self._read(lambda db: tasks.ready(db, limit))

    async def workload(self) -> Workload:
        return await self._read(lambda db: tasks.workload(db, self._now()))

    async def detail(self, session_id: str) -> SessionDetail:
        def work(db: sqlite3.Connection) -> SessionDetail:
            state = _whole(db, session_id)
            progress = plan_rows.progress_of(state)
            plan = None if progress is None else plan_rows.detail(db, session_id, progress)
            return SessionDetail(
                index=cli_sessions.get(db, session_id),
                state=state,
                tasks=tasks.of_session(db, session_id),
                calls=calls_of(db, session_id, state.runtime_state.open_turn),
                updates=tuple(step_updates.of_session(db, session_id)),
                events=tuple(events.after(db, session_id, 0, -1)),
                signals=signals.undrained(db, session_id),
                plan=plan,
            )

        return await self._read(work)

    async def step_inputs(self, session_id: str, run: StepRun, wanted: Sequence[str]) -> StepInputs:
        def work(db: sqlite3.Connection) -> StepInputs:
            progress = plan_rows.progress_of(checkpoints.get(db, session_id))
            if progress is None:
                raise UnknownSession(session_id)
            return plan_rows.step_inputs(db, session_id, progress, run, wanted)

        return await self._read(work)

    async def events_after(self, session_id: str, seq: int, *, limit: int = 1000) -> list[Event]:
        return await self._read(lambda db: events.after(db, session_id, seq, limit))

    async def change_mark(self) -> int:
        return await self._reader.outside(lambda db: int(db.execute("PRAGMA data_version").fetchone()[0]))

    async def snapshots_of(self, session_id: str) -> list[SnapshotTaken]:
        return await self._read(lambda db: snapshots.of_session(db, session_id))

    async def snapshots_in_use(self) -> set[str]:
        return await self._read(snapshots.ids)

    async def changed_by_others(self, session_id: str, workspace: str, since: int) -> list[SnapshotTaken]:
        return await self._read(lambda db: snapshots.of_others_since(db, workspace, session_id, since))

    async def holds_workspace(self, session_id: str) -> bool:
        return await self._read(lambda db: workspace_locks.is_held(db, session_id))

    async def standing(self, session_id: str) -> Standing:
        return await self._read(
            lambda db: Standing(
                status=SessionStatus(checkpoints.status(db, session_id)),
                live_tasks=tasks.live_of_session(db, session_id),
            )
        )


def _whole(db: sqlite3.Connection, session_id: str) -> SessionState:
    state = checkpoints.get(db, session_id)
    merged = merge_steps(step_updates.of_session(db, session_id))
    if state.current_plan is not None:
        merged = merged_runs(plan_steps.of_session(db, session_id))
    return state.model_copy(
        update={
            "memory_entries": tuple(memory_entries.from_position(db, session_id, 0)),
            "step_statuses": merged.step_statuses,
            "completed_steps": merged.completed_steps,
            "failed_steps": merged.failed_steps,
        }
    )
