"""What a transaction writes to a session's rows. Called by the store's parts, on rows that are a copy."""

from __future__ import annotations

from nonoka.adapters.memory.rows import SessionRows, holder_of, view_for
from nonoka.adapters.memory.tables import Tables
from nonoka.errors import StoreError
from nonoka.ports.store import LEASE_MS, Decide
from nonoka.records.commit import Changes, Claim, Committed, SessionView, TaskOutcome
from nonoka.records.task import WORKSPACE, Task, TaskStatus, task_id_of

_UNCLAIMED = {"lease_owner": None, "lease_expires_at": None, "sent_at": None, "sends": 0}


def add_task(tables: Tables, rows: SessionRows, key: str) -> Task:
    """A ready task with this key. Raises StoreError if the session has the key already."""
    session_id = rows.index.session_id
    task_id = task_id_of(session_id, key)
    if task_id in rows.tasks:
        raise StoreError(f"session {session_id!r} has a task {key!r} already; nothing was written")
    task = Task(
        task_id=task_id,
        session_id=session_id,
        kind="turn",
        key=key,
        status=TaskStatus.READY,
        not_before=tables.clock.now_ms(),
    )
    rows.tasks[task_id] = task
    rows.task_order[task_id] = tables.next_number()
    return task


def claim_task(tables: Tables, rows: SessionRows, task: Task, worker_id: str, decide: Decide) -> Committed:
    """The task runs for this worker, and its first changes are written."""
    claimed = task.model_copy(
        update={
            "status": TaskStatus.RUNNING,
            "fence": task.fence + 1,
            "attempt": task.attempt + 1,
            "lease_owner": worker_id,
            "lease_expires_at": tables.clock.monotonic_ms() + LEASE_MS,
            "sent_at": None,
            "sends": 0,
        }
    )
    rows.tasks[claimed.task_id] = claimed
    view = view_for(rows, claimed, tables.clock.now_ms(), tables.locks)
    return apply(tables, rows, claim_of(claimed, worker_id), view, decide(view))


def claim_of(task: Task, worker_id: str) -> Claim:
    """The claim under which this worker runs the task."""
    return Claim(task_id=task.task_id, session_id=task.session_id, worker_id=worker_id, fence=task.fence)


def apply(tables: Tables, rows: SessionRows, claim: Claim, view: SessionView, changes: Changes) -> Committed:
    """The changes are in the rows. Raises StoreError where a position or a task's key is taken already."""
    if changes.state is not None:
        rows.state = changes.state
        rows.version += 1
        rows.index = rows.index.model_copy(update={"last_active": view.now})
    _withdraw(rows, changes.withdraw_from, view.now)
    _add_entries(rows, changes)
    for update in changes.updates:
        numbered = update.model_copy(update={"seq": tables.next_number()})
        rows.updates[(update.step_id, update.update_type)] = numbered
    rows.tell(changes.events, view.now)
    rows.drained.update(changes.drained)
    if changes.ends_session:
        _take_off_others(rows, claim.task_id)
    lease = tables.clock.monotonic_ms() + LEASE_MS
    task = _after(view.task, changes.task, lease)
    rows.tasks[task.task_id] = task
    if changes.next_key is not None:
        add_task(tables, rows, changes.next_key)
    rows.snapshots += changes.snapshots
    if changes.workspace == "take":
        tables.locks[rows.index.working_dir] = claim.task_id
    woken = free_workspace(tables, rows, claim.task_id) if changes.workspace == "free" else ()
    shown = view_for(rows, task, view.now, tables.locks)
    return Committed(claim=claim, view=shown, changes=changes, woken=woken)


def free_workspace(tables: Tables, rows: SessionRows, task_id: str) -> tuple[str, ...]:
    """What the task had is free; returns the task that is ready by it. ``rows`` are those being written."""
    tables.locks = {workspace: owner for workspace, owner in tables.locks.items() if owner != task_id}
    return wake_waiting(tables, 1, rows)


def wake_waiting(tables: Tables, limit: int, written: SessionRows | None = None) -> tuple[str, ...]:
    """At most so many tasks whose workspace nobody has are ready; returns them, longest waiting first."""
    waiting = [
        (rows, task)
        for rows, task in tables.all_tasks()
        if task.waits_for == WORKSPACE and holder_of(tables.locks, rows.index.working_dir, task.task_id) is None
    ]
    waiting.sort(key=lambda pair: pair[1].not_before)
    for rows, task in waiting[:limit]:
        same = written is not None and written.index.session_id == rows.index.session_id
        into = written if written is not None and same else rows
        into.tasks[task.task_id] = woken(task)
    return tuple(task.task_id for _, task in waiting[:limit])


def woken(task: Task) -> Task:
    """A waiting task as it is once it need not wait any more."""
    return task.model_copy(update={"status": TaskStatus.READY, "waits_for": None, "sent_at": None, "sends": 0})


def _withdraw(rows: SessionRows, position: int | None, now: int) -> None:
    if position is not None:
        rows.withdrawn |= {taken: now for taken in rows.standing if taken >= position}


def _add_entries(rows: SessionRows, changes: Changes) -> None:
    for entry in changes.entries:
        if entry.position in rows.entries:
            session_id = rows.index.session_id
            raise StoreError(f"position {entry.position} of session {session_id!r} is taken; nothing was written")
        rows.entries[entry.position] = entry


def _take_off_others(rows: SessionRows, task_id: str) -> None:
    for task in rows.live_tasks:
        if task.task_id != task_id:
            rows.tasks[task.task_id] = task.model_copy(
                update={
                    "status": TaskStatus.DONE,
                    "fence": task.fence + 1,
                    **_UNCLAIMED,
                }
            )


def _after(task: Task, outcome: TaskOutcome, lease: int) -> Task:
    counters: dict[str, object] = {"retries": outcome.retries, "deaths": outcome.deaths}
    if outcome.kind == "keep":
        return task.model_copy(update=counters | {"lease_expires_at": lease})
    let_go = counters | _UNCLAIMED | {"status": TaskStatus(outcome.kind)}
    if outcome.kind in ("ready", "waiting"):
        let_go |= {"not_before": outcome.not_before, "fence": task.fence + 1, "waits_for": outcome.waits_for}
    return task.model_copy(update=let_go)
