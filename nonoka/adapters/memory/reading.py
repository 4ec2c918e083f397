"""The part of the store for those who look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nonoka.adapters.memory import plan_rows
from nonoka.adapters.memory.rows import SessionRows, open_calls, whole_state
from nonoka.adapters.memory.tables import Tables
from nonoka.errors import AmbiguousSession, UnknownSession
from nonoka.records.commit import ReadyTask, SessionDetail, SessionLine, Standing
from nonoka.records.event import Event, EventType
from nonoka.records.memory import MemoryEntry
from nonoka.records.session import SessionIndex, SessionState
from nonoka.records.session_filter import ANY_SESSION, SessionFilter
from nonoka.records.step_run import StepInputs, StepRun
from nonoka.records.task import Task, TaskStatus, session_of
from nonoka.records.workload import Workload
from nonoka.records.workspace import SnapshotTaken


class MemoryReading:
    """``ports.store.ReadStore`` in memory."""

    _tables: Tables

    async def find_session(self, prefix: str) -> SessionIndex:
        """See the port."""
        if prefix in self._tables.sessions:
            return self._tables.sessions[prefix].index
        found = sorted(known for known in self._tables.sessions if known.startswith(prefix))
        if not found:
            raise UnknownSession(prefix)
        if len(found) > 1:
            raise AmbiguousSession(prefix, found)
        return self._tables.sessions[found[0]].index

    async def load_session(self, session_id: str) -> SessionState:
        """See the port. Raises UnknownSession."""
        return whole_state(self._tables.rows(session_id))

    async def conversation(self, session_id: str, *, from_position: int = 0) -> list[MemoryEntry]:
        """See the port. Raises UnknownSession."""
        entries = self._tables.rows(session_id).conversation
        return [entry for entry in entries if entry.position >= from_position]

    async def withdrawn(self, session_id: str, at: int) -> list[MemoryEntry]:
        """See the port."""
        rows = self._tables.rows(session_id)
        return [rows.entries[position] for position in sorted(rows.withdrawn) if rows.withdrawn[position] == at]

    async def list_sessions(self, *, limit: int, matching: SessionFilter = ANY_SESSION) -> list[SessionLine]:
        """See the port."""
        before = _place(self._tables.rows(matching.before).index) if matching.before is not None else None
        found = [
            rows
            for rows in self._tables.sessions.values()
            if _matches(rows, matching) and (before is None or _place(rows.index) > before)
        ]
        found.sort(key=lambda rows: _place(rows.index))
        return [SessionLine(index=rows.index, status=rows.state.status.value) for rows in found[:limit]]

    async def count_sessions(self) -> dict[str, int]:
        """See the port."""
        return dict(Counter(rows.state.status.value for rows in self._tables.sessions.values()))

    async def ready_tasks(self, *, limit: int) -> list[ReadyTask]:
        """See the port."""
        found = [(rows, task) for rows, task in self._tables.all_tasks() if task.status is TaskStatus.READY]
        found.sort(key=lambda pair: pair[1].not_before)
        return [_ready(rows, task) for rows, task in found[:limit]]

    async def workload(self) -> Workload:
        """See the port."""
        now, live = self._tables.clock.now_ms(), [task for _, task in self._tables.all_tasks()]
        due = [task.not_before for task in live if task.status is TaskStatus.READY and task.not_before <= now]
        count = Counter(task.status for task in live)
        return Workload(
            ready=len(due),
            delayed=count[TaskStatus.READY] - len(due),
            running=count[TaskStatus.RUNNING],
            waiting=count[TaskStatus.WAITING],
            oldest_ready_ms=now - min(due, default=now),
        )

    async def detail(self, session_id: str) -> SessionDetail:
        """See the port. Raises UnknownSession."""
        rows = self._tables.rows(session_id)
        return SessionDetail(
            index=rows.index,
            state=whole_state(rows),
            tasks=tuple(rows.tasks.values()),
            calls=open_calls(rows),
            updates=tuple(sorted(rows.updates.values(), key=lambda update: update.seq)),
            events=tuple(rows.events),
            signals=rows.undrained,
            plan=plan_rows.detail(rows),
        )

    async def step_inputs(self, session_id: str, run: StepRun, wanted: Sequence[str]) -> StepInputs:
        """See the port."""
        return plan_rows.step_inputs(self._tables.rows(session_id), run, wanted)

    async def events_after(self, session_id: str, seq: int, *, limit: int = 1000) -> list[Event]:
        """See the port. Raises UnknownSession."""
        return [event for event in self._tables.rows(session_id).events if event.seq > seq][:limit]

    async def change_mark(self) -> int:
        """See the port."""
        return self._tables.commits

    async def snapshots_of(self, session_id: str) -> list[SnapshotTaken]:
        """See the port."""
        return list(self._tables.rows(session_id).snapshots)

    async def snapshots_in_use(self) -> set[str]:
        """See the port."""
        return {
            taken.snapshot_id
            for rows in self._tables.sessions.values()
            for taken in rows.snapshots
            if taken.snapshot_id not in rows.let_go
        }

    async def changed_by_others(self, session_id: str, workspace: str, since: int) -> list[SnapshotTaken]:
        """See the port."""
        return [
            taken
            for rows in self._tables.sessions.values()
            if rows.index.session_id != session_id
            for taken in rows.snapshots
            if taken.workspace == workspace and taken.taken_at >= since and taken.why == "before_call"
            if (taken.step_id, "result") in rows.updates or (taken.step_id, "error") in rows.updates
        ]

    async def holds_workspace(self, session_id: str) -> bool:
        """See the port."""
        return any(session_of(task_id) == session_id for task_id in self._tables.locks.values())

    async def standing(self, session_id: str) -> Standing:
        """See the port."""
        rows = self._tables.rows(session_id)
        return Standing(status=rows.state.status, live_tasks=tuple(rows.live_tasks))


def _place(index: SessionIndex) -> tuple[int, str]:
    return -index.created_at, index.session_id


def _matches(rows: SessionRows, matching: SessionFilter) -> bool:
    index, below = rows.index, matching.below.rstrip("/") + "/" if matching.below else ""
    return (
        index.created_at >= matching.created_since
        and (not matching.statuses or rows.state.status in matching.statuses)
        and f"{index.working_dir}/".startswith(below)
        and matching.finds(index)
    )


def _ready(rows: SessionRows, task: Task) -> ReadyTask:
    told = [e for e in rows.events if e.type in (EventType.TURN_RETRIED, EventType.TURN_STARTED)]
    why = told[-1].data if told else {}
    error_type, message = why.get("error_type"), why.get("message")
    return ReadyTask(
        task=task,
        error_type=error_type if isinstance(error_type, str) else None,
        message=message if isinstance(message, str) else None,
    )
