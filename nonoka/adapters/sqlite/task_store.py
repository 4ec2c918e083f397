"""The part of the store that workers use."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import overload

from nonoka.adapters.sqlite import checkpoints, events, meta, schema, signals, tasks, workers, workspace_locks
from nonoka.adapters.sqlite.opened_store import OpenedStore
from nonoka.adapters.sqlite.transactions import (
    held_task,
    may_share_a_checkpoint,
    save,
    take,
    view_of,
    view_then,
    write,
)
from nonoka.errors import ClaimLost, StoreError
from nonoka.ports.store import ANY_DEATHS, GIVE_WAY_MS, Decide
from nonoka.records.commit import Claim, Committed, DueTask, LostClaim, SessionView
from nonoka.records.event import EventType, NewEvent
from nonoka.records.task import Worker, task_id_of

#: How many waiting tasks one pass wakes at most.
MANY_WAITING = 100


class TaskStorePart(OpenedStore):
    """``ports.store.TaskStore`` in SQLite."""

    async def mark_due(
        self, limit: int, *, agents_to_skip: Sequence[str] = (), shared: bool = False
    ) -> list[DueTask]:
        # Asked many times a second: only what finds something takes the write lock.
        if not await self._read(lambda db: tasks.due(db, self._now(), 1, agents_to_skip)):
            return []

        def work(db: sqlite3.Connection) -> list[DueTask]:
            sharing = workers.sharing(db) if shared else 1
            return tasks.mark_due(db, self._now(), limit, agents_to_skip, sharing=sharing)

        return await self._write(work)

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
        def work(db: sqlite3.Connection) -> tuple[Committed, int] | None:
            now = self._now()
            found = tasks.claimable(
                db,
                now,
                task_id=task_id,
                session_id=session_id,
                agents_to_skip=agents_to_skip,
                most_deaths=most_deaths,
            )
            if found is None:
                return None
            return take(db, found, worker_id, decide, now=now, lease_expires_at=self._lease())

        return self._remembered(await self._write_once_there_is_room(work))

    async def commit(
        self,
        claim: Claim,
        decide: Decide,
        *,
        durable: bool = False,
        then_claim: Decide | None = None,
        give_way: bool = False,
    ) -> Committed:
        def work(db: sqlite3.Connection) -> tuple[Committed, int]:
            now, lease = self._now(), self._lease()
            held = held_task(db, claim)
            before = self._known.view(db, held, now) or view_of(db, held.task, now)
            changes = decide(before)
            goes_on = then_claim is not None and changes.next_key is not None
            # The next task's claim has a state to write as well: once is enough for both.
            unsaved = changes.state if goes_on and may_share_a_checkpoint(before, changes) else None
            version = save(db, claim.session_id, changes, now) if unsaved is None else 0
            written = write(db, claim, changes, now=now, lease_expires_at=lease)
            done = Committed(
                claim=claim,
                view=view_then(db, before, changes, written.task),
                changes=changes,
                woken=written.woken,
            )
            if then_claim is None or changes.next_key is None:
                return done, version
            if give_way and tasks.others_due(db, now - GIVE_WAY_MS, claim.session_id):
                return done, save(db, claim.session_id, changes, now) if unsaved is not None else version
            taken, version = take(
                db,
                task_id_of(claim.session_id, changes.next_key),
                claim.worker_id,
                then_claim,
                now=now,
                lease_expires_at=lease,
                known=done.view,
                unsaved=unsaved,
            )
            return done.model_copy(update={"view": taken.view, "next_claim": taken.claim}), version

        try:
            return self._remembered(await self._write_once_there_is_room(work, durable=durable))
        except ClaimLost:
            self._known.forget(claim)
            raise

    @overload
    def _remembered(self, done: tuple[Committed, int]) -> Committed: ...
    @overload
    def _remembered(self, done: tuple[Committed, int] | None) -> Committed | None: ...
    def _remembered(self, done: tuple[Committed, int] | None) -> Committed | None:
        """What a transaction that is committed left behind, known from now on."""
        if done is None:
            return None
        committed, version = done
        self._known.forget(committed.claim)
        self._known.remember(committed.next_claim or committed.claim, version, committed.view)
        return committed

    async def renew(self, worker_id: str) -> dict[str, int]:
        def work(db: sqlite3.Connection) -> dict[str, int]:
            schema.refuse_newer(schema.version_of(db), str(self.path))
            workers.seen(db, worker_id, self._now())
            return tasks.renew(db, worker_id, self._lease())

        return await self._write(work)

    async def sessions_to_interrupt(self, worker_id: str) -> set[str]:
        return await self._read(lambda db: signals.sessions_to_interrupt(db, worker_id))

    async def running_claims(self) -> list[LostClaim]:
        def work(db: sqlite3.Connection) -> list[LostClaim]:
            running = tasks.running(db)
            owners = {worker.worker_id: worker for worker in workers.every(db)} if running else {}
            now = self._clock.monotonic_ms()
            in_time = {task.lease_owner for task in running if (task.lease_expires_at or 0) > now}
            return [
                LostClaim(
                    task=task,
                    owner=owners.get(task.lease_owner or ""),
                    owner_leases_run_out=task.lease_owner not in in_time,
                )
                for task in running
            ]

        return await self._read(work)

    async def take_over(self, claim: LostClaim, worker_id: str) -> tuple[Claim, SessionView] | None:
        def work(db: sqlite3.Connection) -> tuple[Claim, SessionView] | None:
            if not tasks.take_over(db, claim.task, worker_id, self._lease()):
                return None
            task = tasks.get(db, claim.task.task_id)
            taken = Claim(task_id=task.task_id, session_id=task.session_id, worker_id=worker_id, fence=task.fence)
            return taken, view_of(db, task, self._now())

        return await self._write(work)

    async def register_worker(self, worker: Worker) -> None:
        await self._write(lambda db: workers.insert(db, worker))

    async def remove_worker(self, worker_id: str) -> None:
        def work(db: sqlite3.Connection) -> None:
            if tasks.owned_count(db, worker_id):
                raise StoreError(f"worker {worker_id!r} still owns running tasks; they must be released first")
            workers.delete(db, worker_id)

        await self._write(work)

    async def workers(self) -> list[Worker]:
        return await self._read(workers.every)

    async def agree_on_broker(self, broker: str, *, instead_of: str | None = None) -> str:
        return await self._write(lambda db: meta.agree(db, "broker", broker, instead_of))

    async def free_workspaces(self) -> list[str]:
        if not await self._read(workspace_locks.needs_care):
            return []

        def work(db: sqlite3.Connection) -> list[str]:
            workspace_locks.free_abandoned(db)
            return list(workspace_locks.wake(db, MANY_WAITING))

        return await self._write(work)

    async def repair_taskless(self) -> list[str]:
        if not await self._read(checkpoints.taskless):
            return []

        def work(db: sqlite3.Connection) -> list[str]:
            now, found = self._now(), checkpoints.taskless(db)
            for session_id in found:
                tasks.insert_next_turn(db, session_id, now)
                told = NewEvent(type=EventType.SESSION_REPAIRED, data={"why": "it had no task"})
                events.append(db, session_id, [told], now)
            return found

        return await self._write(work)
