"""What a transaction writes to a session's rows. Called by the store's parts, on rows that are a copy."""

from __future__ import annotations

from nonoka.adapters.memory import plan_rows
from nonoka.adapters.memory.inbox import add_signal
from nonoka.adapters.memory.plan_rows import store_plan
from nonoka.adapters.memory.rows import SessionRows, holder_of
from nonoka.adapters.memory.tables import Tables
from nonoka.adapters.memory.tasks_written import UNCLAIMED, add_task, closed, open_step, take_off, woken
from nonoka.adapters.memory.view import view_for
from nonoka.errors import StoreError
from nonoka.ports.store import LEASE_MS, Decide
from nonoka.records.commit import Changes, Claim, Committed, NewSession, SessionView, TaskOutcome
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.step_run import PlanChanges
from nonoka.records.task import WORKSPACE, Task, TaskStatus, session_end, task_id_of, turn_key


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
    if changes.plan is not None:
        _write_plan(tables, rows, changes.plan)
    others = _reach_others(tables, rows.index.session_id, changes)
    freed = free_workspace(tables, rows, claim.task_id) if changes.workspace == "free" else ()
    shown = view_for(rows, task, view.now, tables.locks)
    return Committed(claim=claim, view=shown, changes=changes, woken=(*others, *freed))


def make_session(tables: Tables, new: NewSession) -> tuple[SessionRows, Task | None]:
    """The rows of a new session with its prompt, or its plan, and its first task.

    One that begins with entries of its own has no task.
    """
    rows = SessionRows(index=new.index, state=new.state)
    if new.plan is not None:
        store_plan(rows, new.plan)
        rows.steps |= {(run.plan, run.step, run.item): run for run in new.runs}
    else:
        prompt = MemoryEntry(position=0, role=MemoryRole.USER, content=new.prompt)
        rows.entries = {entry.position: entry for entry in new.entries or [prompt]}
    rows.tell(new.events, tables.clock.now_ms())
    return rows, None if new.entries else add_task(tables, rows, turn_key(1))


def _write_plan(tables: Tables, rows: SessionRows, changes: PlanChanges) -> None:
    plan_rows.write(rows, changes)
    for key in changes.off:
        take_off(rows, task_id_of(rows.index.session_id, key))
    for key in changes.ready:
        open_step(tables, rows, key)


def _reach_others(tables: Tables, session_id: str, changes: Changes) -> tuple[str, ...]:
    """What the commit means to other sessions is written; returns the tasks that are ready by it."""
    for sent in changes.sent:
        if sent.session_id in tables.sessions:
            with tables.writing(sent.session_id) as other:
                add_signal(tables, other, sent.signal)
    reached = []
    if changes.child is not None:
        born, first = make_session(tables, changes.child)
        tables.put(born)
        reached += [first.task_id] if first is not None else []
    if changes.ends_session:
        reached += wake_for(tables, session_end(session_id))
    return tuple(reached)


def wake_for(tables: Tables, waits_for: str) -> list[str]:
    """Every task that waits for this is ready; returns them."""
    found = [task for _, task in tables.all_tasks() if task.waits_for == waits_for]
    for task in found:
        with tables.writing(task.session_id) as rows:
            rows.tasks[task.task_id] = woken(task)
    return [task.task_id for task in found]


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
            rows.tasks[task.task_id] = closed(task)


def _after(task: Task, outcome: TaskOutcome, lease: int) -> Task:
    counters: dict[str, object] = {"retries": outcome.retries, "deaths": outcome.deaths}
    if outcome.kind == "keep":
        return task.model_copy(update=counters | {"lease_expires_at": lease})
    let_go = counters | UNCLAIMED | {"status": TaskStatus(outcome.kind)}
    if outcome.kind in ("ready", "waiting"):
        let_go |= {"not_before": outcome.not_before, "fence": task.fence + 1, "waits_for": outcome.waits_for}
    return task.model_copy(update=let_go)
