"""The part of the store that workers and the sweeper use."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nonoka.adapters.memory.rows import SessionRows
from nonoka.adapters.memory.tables import Tables
from nonoka.adapters.memory.tasks_written import add_task
from nonoka.adapters.memory.view import view_for
from nonoka.adapters.memory.writes import apply, claim_of, claim_task, wake_waiting
from nonoka.decisions.inbox import interrupts
from nonoka.decisions.retry import resend_after_ms
from nonoka.errors import ClaimLost, StoreError
from nonoka.ports.store import ANY_DEATHS, GIVE_WAY_MS, LEASE_MS, Decide
from nonoka.records.commit import Claim, Committed, DueTask, LostClaim, SessionView
from nonoka.records.event import EventType, NewEvent
from nonoka.records.session import SessionStatus
from nonoka.records.task import Task, TaskStatus, Worker, task_id_of, turn_key


class MemoryTasks:
    """``ports.store.TaskStore`` in memory."""

    _tables: Tables

    async def mark_due(
        self, limit: int, *, agents_to_skip: Sequence[str] = (), shared: bool = False
    ) -> list[DueTask]:
        """See the port."""
        now = self._tables.clock.now_ms()
        due = [pair for pair in self._due(agents_to_skip) if _may_be_sent(pair[1], now)]
        if shared:
            sharing = max(1, sum(worker.kind == "worker" for worker in self._tables.workers.values()))
            limit = min(limit, -(-len(due) // sharing))
        marked = []
        for rows, task in due[:limit]:
            with self._tables.writing(task.session_id) as written:
                sent = task.model_copy(update={"sent_at": now, "sends": task.sends + 1})
                written.tasks[task.task_id] = sent
            agent = rows.index.agent
            marked.append(
                DueTask(task_id=task.task_id, session_id=task.session_id, agent=agent, deaths=task.deaths)
            )
        return marked

    async def claim(
        self,
        worker_id: str,
        decide: Decide,
        *,
        task_id: str | None = None,
        session_id: str | None = None,
        agents_to_skip: Sequence[str] = (),
        most_deaths: int = ANY_DEATHS,
    ) -> Committed | None:
        """See the port."""
        eligible = [
            task
            for _, task in self._due(agents_to_skip)
            if task.deaths <= most_deaths and (session_id is None or task.session_id == session_id)
        ]
        if not eligible:
            return None
        task = next((task for task in eligible if task.task_id == task_id), eligible[0])
        with self._tables.writing(task.session_id) as rows:
            return claim_task(self._tables, rows, task, worker_id, decide)

    async def commit(
        self,
        claim: Claim,
        decide: Decide,
        *,
        durable: bool = False,
        then_claim: Decide | None = None,
        give_way: bool = False,
    ) -> Committed:
        """See the port. Nothing here outlives the process, ``durable`` or not."""
        with self._tables.writing(claim.session_id) as rows:
            view = view_for(rows, _held_task(rows, claim), self._tables.clock.now_ms(), self._tables.locks)
            done = apply(self._tables, rows, claim, view, decide(view))
            if then_claim is None or done.changes.next_key is None:
                return done
            following = rows.tasks[task_id_of(claim.session_id, done.changes.next_key)]
            since = self._tables.clock.now_ms() - GIVE_WAY_MS
            others = (task for _, task in self._due(()) if task.session_id != claim.session_id)
            if give_way and any(task.not_before <= since for task in others):
                return done
            taken = claim_task(self._tables, rows, following, claim.worker_id, then_claim)
            return done.model_copy(update={"next_claim": taken.claim, "view": taken.view})

    async def renew(self, worker_id: str) -> dict[str, int]:
        """See the port."""
        tables = self._tables
        worker = tables.workers.get(worker_id)
        if worker is not None:
            tables.workers[worker_id] = worker.model_copy(update={"seen_at": tables.clock.now_ms()})
        lease = tables.clock.monotonic_ms() + LEASE_MS
        held = {}
        for task in self._running_of(worker_id):
            with tables.writing(task.session_id) as rows:
                rows.tasks[task.task_id] = task.model_copy(update={"lease_expires_at": lease})
            held[task.task_id] = task.fence
        return held

    async def sessions_to_interrupt(self, worker_id: str) -> set[str]:
        """See the port."""
        sessions = {task.session_id for task in self._running_of(worker_id)}
        return {
            session_id
            for session_id in sessions
            if any(interrupts(signal) for signal in self._tables.rows(session_id).undrained)
        }

    async def running_claims(self) -> list[LostClaim]:
        """See the port."""
        now = self._tables.clock.monotonic_ms()
        running = [task for _, task in self._tables.all_tasks() if task.status is TaskStatus.RUNNING]
        holding = {task.lease_owner for task in running if (task.lease_expires_at or 0) > now}
        return [
            LostClaim(
                task=task,
                owner=self._tables.workers.get(task.lease_owner or ""),
                owner_leases_run_out=task.lease_owner not in holding,
            )
            for task in running
        ]

    async def take_over(self, claim: LostClaim, worker_id: str) -> tuple[Claim, SessionView] | None:
        """See the port."""
        known = self._tables.rows_of_task(claim.task.task_id)
        task = known.tasks[claim.task.task_id] if known else None
        if task is None or task.status is not TaskStatus.RUNNING or task.fence != claim.task.fence:
            return None
        clock = self._tables.clock
        lease = clock.monotonic_ms() + LEASE_MS
        taken = task.model_copy(
            update={"fence": task.fence + 1, "lease_owner": worker_id, "lease_expires_at": lease}
        )
        with self._tables.writing(task.session_id) as rows:
            rows.tasks[task.task_id] = taken
            return claim_of(taken, worker_id), view_for(rows, taken, clock.now_ms(), self._tables.locks)

    async def register_worker(self, worker: Worker) -> None:
        """See the port."""
        self._tables.workers[worker.worker_id] = worker
        self._tables.commits += 1

    async def remove_worker(self, worker_id: str) -> None:
        """See the port. Raises StoreError where it owns a running task."""
        held = self._running_of(worker_id)
        if held:
            raise StoreError(f"worker {worker_id!r} still runs {held[0].task_id!r}; release that first")
        if self._tables.workers.pop(worker_id, None):
            self._tables.commits += 1

    async def workers(self) -> list[Worker]:
        """See the port."""
        return list(self._tables.workers.values())

    async def agree_on_broker(self, broker: str, *, instead_of: str | None = None) -> str:
        """See the port."""
        if self._tables.broker in (None, instead_of):
            self._tables.broker = broker
            self._tables.commits += 1
        return self._tables.broker or broker

    async def free_workspaces(self) -> list[str]:
        """See the port."""
        tables = self._tables
        running = {task.task_id for _, task in tables.all_tasks() if task.status is TaskStatus.RUNNING}
        tables.locks = {workspace: owner for workspace, owner in tables.locks.items() if owner in running}
        return list(wake_waiting(tables, 100))

    async def repair_taskless(self) -> list[str]:
        """See the port."""
        unfinished = (SessionStatus.CREATED, SessionStatus.RUNNING)
        broken = [
            session_id
            for session_id, rows in self._tables.sessions.items()
            if rows.state.status in unfinished and not rows.live_tasks
        ]
        for session_id in broken:
            with self._tables.writing(session_id) as rows:
                add_task(self._tables, rows, turn_key(rows.highest_turn + 1))
                told = NewEvent(type=EventType.SESSION_REPAIRED, data={"why": "it had no task"})
                rows.tell([told], self._tables.clock.now_ms())
        return broken

    def _due(self, agents_to_skip: Collection[str]) -> list[tuple[SessionRows, Task]]:
        now = self._tables.clock.now_ms()
        due = [
            (rows, task)
            for rows, task in self._tables.all_tasks()
            if task.status is TaskStatus.READY
            and task.not_before <= now
            and rows.index.agent not in agents_to_skip
        ]
        return sorted(due, key=lambda pair: pair[1].not_before)

    def _running_of(self, worker_id: str) -> list[Task]:
        return [
            task
            for _, task in self._tables.all_tasks()
            if task.status is TaskStatus.RUNNING and task.lease_owner == worker_id
        ]


def _may_be_sent(task: Task, now: int) -> bool:
    return task.sent_at is None or task.sent_at + resend_after_ms(task.sends) <= now


def _held_task(rows: SessionRows, claim: Claim) -> Task:
    task = rows.tasks.get(claim.task_id)
    held = (
        task is not None
        and task.status is TaskStatus.RUNNING
        and task.fence == claim.fence
        and task.lease_owner == claim.worker_id
    )
    if task is None or not held:
        raise ClaimLost(claim.task_id, claim.fence)
    return task
