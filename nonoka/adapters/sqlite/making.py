"""A new session on its way into the tables: made from outside, or born by a commit."""

from __future__ import annotations

import sqlite3

from nonoka.adapters.sqlite import checkpoints, cli_sessions, events, memory_entries, plan_steps, plans, tasks
from nonoka.records.commit import NewSession
from nonoka.records.memory import MemoryEntry, MemoryRole


def make(db: sqlite3.Connection, new: NewSession, now: int) -> str | None:
    """The session is there with its prompt, or its plan, and its first task, whose id is returned.

    One that begins with entries of its own has no task.
    """
    session_id = new.index.session_id
    checkpoints.insert(db, new.state)
    cli_sessions.insert(db, new.index)
    if new.plan is not None:
        plans.put(db, session_id, new.plan)
        plan_steps.put(db, session_id, new.runs)
    else:
        prompt = MemoryEntry(position=0, role=MemoryRole.USER, content=new.prompt)
        memory_entries.append(db, session_id, new.entries or [prompt])
    events.append(db, session_id, new.events, now)
    return None if new.entries else tasks.insert_next_turn(db, session_id, now)
