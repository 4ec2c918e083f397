"""The SQLite store: the port's methods, each one transaction in one thread hop."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from nonoka.adapters.sqlite import (
    checkpoints,
    cli_sessions,
    events,
    location,
    memory_entries,
    meta,
    schema,
    signals,
    step_updates,
    tasks,
    workers,
)
from nonoka.adapters.sqlite.connection import Connection
from nonoka.adapters.sqlite.place import Place
from nonoka.adapters.sqlite.transactions import calls_of, held_task, take, view_of, write
from nonoka.decisions.step_merge import merge_steps
from nonoka.decisions.transitions import TERMINAL
from nonoka.errors import StoreError
from nonoka.ports.clock import Clock
from nonoka.ports.store import ANY_DEATHS, LEASE_MS, Decide
from nonoka.records.commit import (
    Changes,
    Claim,
    Committed,
    DueTask,
    LostClaim,
    NewSession,
    NewSignal,
    ReadyTask,
    SessionDetail,
    SessionLine,
    SessionView,
    Standing,
)
from nonoka.records.event import Event, EventType, NewEvent
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.session import SessionIndex, SessionState, SessionStatus
from nonoka.records.session_filter import ANY_SESSION, SessionFilter
from nonoka.records.signal import SignalKind
from nonoka.records.task import TaskStatus, Worker, task_id_of

T = TypeVar("T")

_WAKES = frozenset({SignalKind.MESSAGE, SignalKind.RETRY})
_WAKES_PAUSED = frozenset({SignalKind.RETRY, SignalKind.RESUME, SignalKind.CANCEL})


class SqliteStore:
    """A store in one file, for the processes of one machine. Open it with ``open``."""

    def __init__(self, path: Path, clock: Clock, writer: Connection, reader: Connection) -> None:
        self.path = path
        self._clock = clock
        self._writer = writer
        self._reader = reader
        self._place = Place(path)

    @classmethod
    async def open(cls, path: Path, clock: Clock) -> SqliteStore:
        """The store at this path, made or migrated if need be. Raises StoreError, StoreTooNew."""
        location.prepare(path)
        writer = await Connection.opened(path)
        try:
            await schema.migrate(writer, str(path), clock.now_ms())
            reader = await Connection.opened(path, read_only=True)
        except BaseException:
            await writer.close()
            raise
        return cls(path, clock, writer, reader)

    async def close(self) -> None:
        """Both connections are closed."""
        try:
            await self._reader.close()
        finally:
            await self._writer.close()

    async def store_id(self) -> str:
        """The id of this store, given to it when first asked for."""
        return await self._write(lambda db: meta.ensure(db, "store_id", self._clock.new_id()))

    # --- tasks

    async def mark_due(self, limit: int, *, agents_to_skip: Sequence[str] = ()) -> list[DueTask]:
        # Asked many times a second: only what finds something takes the write lock.
        if not await self._read(lambda db: tasks.due(db, self._now(), 1, agents_to_skip)):
            return []
        return await self._write(lambda db: tasks.mark_due(db, self._now(), limit, agents_to_skip))

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
        def work(db: sqlite3.Connection) -> Committed | None:
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

        return await self._write(work)

    async def commit(
        self,
        claim: Claim,
        decide: Decide,
        *,
        durable: bool = False,
        then_claim: Decide | None = None,
    ) -> Committed:
        if durable:
            await self._stay_in_place()

        def work(db: sqlite3.Connection) -> Committed:
            now, lease = self._now(), self._lease()
            changes = decide(view_of(db, held_task(db, claim), now))
            write(db, claim, changes, now=now, lease_expires_at=lease)
            if then_claim is not None and changes.next_key is not None:
                next_id = task_id_of(claim.session_id, changes.next_key)
                taken = take(db, next_id, claim.worker_id, then_claim, now=now, lease_expires_at=lease)
                return Committed(claim=claim, view=taken.view, changes=changes, next_claim=taken.claim)
            return Committed(claim=claim, view=view_of(db, tasks.get(db, claim.task_id), now), changes=changes)

        return await self._write(work, durable=durable)

    async def renew(self, worker_id: str) -> dict[str, int]:
        await self._stay_in_place()

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

    # --- sessions

    async def create_session(
        self, new: NewSession, *, claim_by: str | None = None, decide: Decide | None = None
    ) -> Committed | None:
        def work(db: sqlite3.Connection) -> Committed | None:
            now, session_id = self._now(), new.index.session_id
            checkpoints.insert(db, new.state)
            cli_sessions.insert(db, new.index)
            prompt = MemoryEntry(position=0, role=MemoryRole.USER, content=new.prompt)
            memory_entries.append(db, session_id, [prompt])
            task_id = tasks.insert_next_turn(db, session_id, now)
            events.append(db, session_id, new.events, now)
            if claim_by is None:
                return None
            first = decide or _nothing
            return take(db, task_id, claim_by, first, now=now, lease_expires_at=self._lease())

        return await self._write(work, durable=True)

    async def delete_session(self, session_id: str) -> None:
        def work(db: sqlite3.Connection) -> None:
            checkpoints.status(db, session_id)
            for task in tasks.live_of_session(db, session_id):
                if task.status is TaskStatus.RUNNING:
                    raise StoreError(f"task {task.task_id!r} is running; cancel session {session_id} first")
            checkpoints.delete(db, session_id)

        await self._write(work, durable=True)

    async def add_signal(self, session_id: str, signal: NewSignal) -> int:
        def work(db: sqlite3.Connection) -> int:
            now = self._now()
            status = SessionStatus(checkpoints.status(db, session_id))
            live = tasks.live_of_session(db, session_id)
            wakes = signal.kind in (_WAKES_PAUSED if status is SessionStatus.PAUSED else _WAKES)
            moot = not live and not wakes and status in TERMINAL
            seq = signals.insert(db, session_id, signal, now, drained=moot)
            if live:
                tasks.make_due(db, session_id, now)
            elif wakes:
                tasks.insert_next_turn(db, session_id, now)
            return seq

        return await self._write(work, durable=True)

    # --- the read side

    async def find_session(self, prefix: str) -> SessionIndex:
        return await self._read(lambda db: cli_sessions.by_prefix(db, prefix))

    async def load_session(self, session_id: str) -> SessionState:
        return await self._read(lambda db: _whole(db, session_id))

    async def conversation(self, session_id: str, *, from_position: int = 0) -> list[MemoryEntry]:
        return await self._read(lambda db: memory_entries.from_position(db, session_id, from_position))

    async def list_sessions(self, *, limit: int, matching: SessionFilter = ANY_SESSION) -> list[SessionLine]:
        return await self._read(lambda db: cli_sessions.newest(db, limit, matching))

    async def count_sessions(self) -> dict[str, int]:
        return await self._read(checkpoints.count)

    async def ready_tasks(self, *, limit: int) -> list[ReadyTask]:
        return await self._read(lambda db: tasks.ready(db, limit))

    async def detail(self, session_id: str) -> SessionDetail:
        def work(db: sqlite3.Connection) -> SessionDetail:
            state = _whole(db, session_id)
            return SessionDetail(
                index=cli_sessions.get(db, session_id),
                state=state,
                tasks=tasks.of_session(db, session_id),
                calls=calls_of(db, session_id, state.runtime_state.open_turn),
                updates=tuple(step_updates.of_session(db, session_id)),
                events=tuple(events.after(db, session_id, 0, -1)),
                signals=signals.undrained(db, session_id),
            )

        return await self._read(work)

    async def events_after(self, session_id: str, seq: int, *, limit: int = 1000) -> list[Event]:
        return await self._read(lambda db: events.after(db, session_id, seq, limit))

    async def change_mark(self) -> int:
        return await self._reader.outside(lambda db: int(db.execute("PRAGMA data_version").fetchone()[0]))

    async def standing(self, session_id: str) -> Standing:
        return await self._read(
            lambda db: Standing(
                status=SessionStatus(checkpoints.status(db, session_id)),
                live_tasks=tasks.live_of_session(db, session_id),
            )
        )

    # ---

    async def _stay_in_place(self) -> None:
        if not self._place.is_kept():
            raise await self._writer.outside(self._place.rescue)

    async def _write(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = False) -> T:
        return await self._writer.write(work, durable=durable)

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._reader.read(work)

    def _now(self) -> int:
        return self._clock.now_ms()

    def _lease(self) -> int:
        return self._clock.monotonic_ms() + LEASE_MS


def _nothing(view: SessionView) -> Changes:
    return Changes()


def _whole(db: sqlite3.Connection, session_id: str) -> SessionState:
    merged = merge_steps(step_updates.of_session(db, session_id))
    return checkpoints.get(db, session_id).model_copy(
        update={
            "memory_entries": tuple(memory_entries.from_position(db, session_id, 0)),
            "step_statuses": merged.step_statuses,
            "completed_steps": merged.completed_steps,
            "failed_steps": merged.failed_steps,
        }
    )
