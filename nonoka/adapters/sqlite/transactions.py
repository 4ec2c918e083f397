"""What several store methods share: reading a session's view, and writing a decision's changes."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from nonoka.adapters.sqlite import (
    checkpoints,
    cli_sessions,
    events,
    inbox,
    making,
    memory_entries,
    plan_rows,
    signals,
    snapshots,
    step_updates,
    tasks,
    workspace_locks,
)
from nonoka.decisions.calls import read_calls
from nonoka.decisions.view_after import view_after
from nonoka.errors import ClaimLost
from nonoka.ports.store import Decide
from nonoka.records.commit import Changes, Claim, Committed, SessionView
from nonoka.records.runtime import OpenTurn
from nonoka.records.session import SessionState
from nonoka.records.step_run import call_of
from nonoka.records.task import Task, session_end
from nonoka.records.tool import CallState


@dataclass(frozen=True, slots=True)
class Written:
    """A commit's task after it, and the tasks of others that are ready by it."""

    task: Task
    woken: tuple[str, ...]


def view_of(db: sqlite3.Connection, task: Task, now: int) -> SessionView:
    """The session as this transaction finds it, for a task of it."""
    session_id = task.session_id
    state = checkpoints.get(db, session_id)
    open_turn = state.runtime_state.open_turn
    next_position, last_role, last_has_calls = memory_entries.newest(db, session_id)
    if open_turn is not None:
        next_position = max(next_position, open_turn.position + 1 + open_turn.calls)
    index = cli_sessions.get(db, session_id)
    plan, step = plan_rows.view_parts(db, task, state)
    return SessionView(
        now=now,
        task=task,
        index=index,
        state=state,
        signals=signals.undrained(db, session_id),
        calls=calls_of(db, session_id, open_turn) if step is None else (call_of(step),),
        next_position=next_position,
        last_role=last_role,
        last_has_calls=last_has_calls,
        workspace_holder=workspace_locks.holder(db, index.working_dir, task.task_id),
        step=step,
        plan=plan,
    )


def view_then(db: sqlite3.Connection, before: SessionView, changes: Changes, task: Task) -> SessionView:
    """The session once the changes to this view are written; read anew only where they reach beyond it."""
    if _reach_beyond(changes):
        return view_of(db, tasks.get(db, task.task_id), before.now)
    return view_after(before, changes, task)


def may_share_a_checkpoint(before: SessionView, changes: Changes) -> bool:
    """Whether the next task's claim, in the same transaction, needs nothing of their state in the store."""
    return before.workspace_holder is None and changes.plan is None and not _reach_beyond(changes)


def _reach_beyond(changes: Changes) -> bool:
    edited = changes.plan is not None and changes.plan.edited is not None
    return changes.withdraw_from is not None or changes.workspace != "keep" or edited


def calls_of(db: sqlite3.Connection, session_id: str, open_turn: OpenTurn | None) -> tuple[CallState, ...]:
    """The calls of the open turn; none if no turn is open, or what asked for them is not in the conversation."""
    if open_turn is None:
        return ()
    first, last = open_turn.position, open_turn.position + open_turn.calls
    asked = memory_entries.at_position(db, session_id, first)
    if asked is None:
        return ()
    return read_calls(
        open_turn,
        asked,
        memory_entries.positions_between(db, session_id, first, last),
        step_updates.statuses_of_turn(db, session_id, open_turn.turn),
    )


def take(
    db: sqlite3.Connection,
    task_id: str,
    worker_id: str,
    decide: Decide,
    *,
    now: int,
    lease_expires_at: int,
    known: SessionView | None = None,
    unsaved: SessionState | None = None,
) -> tuple[Committed, int]:
    """Claim a task that is ready, with its first changes; returns the session's version as well.

    ``known`` is the session as this transaction has it already, for another task of it; ``unsaved`` is its state
    where that is still to be written.
    """
    task = tasks.claim(db, task_id, worker_id, lease_expires_at)
    claim = Claim(task_id=task_id, session_id=task.session_id, worker_id=worker_id, fence=task.fence)
    # Another task's view shows who holds the workspace as that task sees it.
    reuse = known is not None and known.workspace_holder is None
    before = view_after(known, Changes(), task) if known is not None and reuse else view_of(db, task, now)
    changes = decide(before)
    version = save(db, task.session_id, changes, now, unsaved=unsaved)
    written = write(db, claim, changes, now=now, lease_expires_at=lease_expires_at)
    view = view_then(db, before, changes, written.task)
    return Committed(claim=claim, view=view, changes=changes, woken=written.woken), version


def held_task(db: sqlite3.Connection, claim: Claim) -> tasks.Held:
    """The task that runs under this claim. Raises ClaimLost."""
    held = tasks.held(db, claim)
    if held is None:
        raise ClaimLost(claim.task_id, claim.fence)
    return held


def save(
    db: sqlite3.Connection, session_id: str, changes: Changes, now: int, *, unsaved: SessionState | None = None
) -> int:
    """The session's state is written, and its version tells that something changed; returns that.

    Before anything else of the changes: what they reach may read it. ``unsaved`` is the state before them.
    """
    state = unsaved if changes.state is None else changes.state
    if state is None:
        return checkpoints.touch(db, session_id)
    cli_sessions.touch(db, session_id, now)
    return checkpoints.update(db, state)


def write(db: sqlite3.Connection, claim: Claim, changes: Changes, *, now: int, lease_expires_at: int) -> Written:
    """All that a decision asked for is in this transaction, but for what ``save`` writes."""
    session_id = claim.session_id
    if changes.withdraw_from is not None:
        memory_entries.withdraw(db, session_id, changes.withdraw_from, now)
    memory_entries.append(db, session_id, changes.entries)
    step_updates.put(db, session_id, changes.updates)
    signals.drain(db, session_id, changes.drained, now)
    events.append(db, session_id, changes.events, now)
    if changes.ends_session:
        tasks.close_others(db, session_id, claim.task_id)
    task = tasks.settle_outcome(db, claim.task_id, changes.task, lease_expires_at)
    if changes.next_key is not None:
        tasks.insert_turn(db, session_id, changes.next_key, now)
    snapshots.add(db, changes.snapshots)
    if changes.plan is not None:
        plan_rows.write(db, session_id, changes.plan, now)
    woken = _reach_others(db, session_id, changes, now)
    if changes.workspace == "take":
        workspace_locks.take(db, cli_sessions.get(db, session_id).working_dir, claim.task_id, now)
    if changes.workspace == "free":
        woken = (*woken, *workspace_locks.free(db, claim.task_id))
    return Written(task, woken)


def _reach_others(db: sqlite3.Connection, session_id: str, changes: Changes, now: int) -> tuple[str, ...]:
    """What the commit means to other sessions is in this transaction; returns the tasks that are ready by it."""
    for sent in changes.sent:
        if checkpoints.exists(db, sent.session_id):
            inbox.add(db, sent.session_id, sent.signal, now)
    born = None if changes.child is None else making.make(db, changes.child, now)
    ended = tasks.wake_for(db, session_end(session_id)) if changes.ends_session else ()
    return ended if born is None else (born, *ended)
