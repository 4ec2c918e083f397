"""What can be repaired of a store, by the rule that was broken. ``check`` calls these in one transaction each.

A conversation isn't among them: the engine makes it a valid one before the next request. Nothing here begins a
call or ends a process: what may be in doubt is left to the recovery pass.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence

from nonoka.adapters.sqlite import checkpoints, cli_sessions, events, plan_steps, tasks
from nonoka.decisions.titles import title_of
from nonoka.records.event import EventType, NewEvent
from nonoka.records.session import SessionIndex

#: (in this transaction, what breaks the rule, ms UTC) -> what was done
Repair = Callable[[sqlite3.Connection, Sequence[str], int], str]


def _give_a_task(db: sqlite3.Connection, session_ids: Sequence[str], now_ms: int) -> str:
    for session_id in session_ids:
        tasks.insert_next_turn(db, session_id, now_ms)
        _tell(db, session_id, "it had no task", now_ms)
    return "each has a task again"


def _close_waiting(db: sqlite3.Connection, session_ids: Sequence[str], now_ms: int) -> str:
    for session_id in session_ids:
        for task in tasks.live_of_session(db, session_id):
            if task.status == "waiting":
                tasks.close(db, task.task_id)
        _tell(db, session_id, "it had ended, and a task of it still waited", now_ms)
    return "their tasks are closed"


def _keep_one_turn(db: sqlite3.Connection, session_ids: Sequence[str], now_ms: int) -> str:
    for session_id in session_ids:
        turns = [task for task in tasks.live_of_session(db, session_id) if task.kind == "turn"]
        kept = min(turns, key=lambda task: (task.status != "running", task.turn))
        for task in turns:
            if task.task_id != kept.task_id:
                tasks.close(db, task.task_id)
        _tell(db, session_id, f"it had {len(turns)} turns at once; {kept.key} is left", now_ms)
    return "each has one left, the one that runs or else the first"


def _give_steps_their_tasks(db: sqlite3.Connection, session_ids: Sequence[str], now_ms: int) -> str:
    for session_id in session_ids:
        for run in plan_steps.at_work(db, session_id):
            tasks.open_step(db, session_id, run.key, now_ms)
        _tell(db, session_id, "a step of its plan was at work without a task", now_ms)
    return "each has its task again"


def _let_leases_run_out(db: sqlite3.Connection, session_ids: Sequence[str], now_ms: int) -> str:
    for session_id in session_ids:
        tasks.let_unowned_run_out(db, session_id)
    return (
        "their leases have run out: the next recovery pass (a worker's, or nonoka sweep) settles and releases them"
    )


def _take_the_state_s_status(db: sqlite3.Connection, session_ids: Sequence[str], now_ms: int) -> str:
    for session_id in session_ids:
        db.execute(
            "UPDATE checkpoints SET status = json_extract(state_json, '$.status') WHERE session_id = ?",
            (session_id,),
        )
        checkpoints.touch(db, session_id)  # who runs a task of it reads it anew
    return "the status is the state's"


def _list_again(db: sqlite3.Connection, session_ids: Sequence[str], now_ms: int) -> str:
    for session_id in session_ids:
        cli_sessions.insert(db, _index_from_what_is_left(db, session_id, now_ms))
        checkpoints.touch(db, session_id)
        _tell(db, session_id, "it was in no list", now_ms)
    return "each is listed again, by its first message and event"


def _drop_rows_of_nobody(db: sqlite3.Connection, tables: Sequence[str], now_ms: int) -> str:
    dropped = 0
    for table in tables:
        for key in db.execute(f"PRAGMA foreign_key_list({table})").fetchall():
            column, parent = key["from"], key["table"]
            statement = f"DELETE FROM {table} WHERE {column} NOT IN (SELECT {column} FROM {parent})"
            dropped += db.execute(statement).rowcount
    return f"{dropped} rows are removed"


def _build_indexes_anew(db: sqlite3.Connection, damage: Sequence[str], now_ms: int) -> str:
    db.execute("REINDEX")
    return "the indexes are built anew"


def _index_from_what_is_left(db: sqlite3.Connection, session_id: str, now_ms: int) -> SessionIndex:
    made = db.execute(
        "SELECT at, data_json FROM events WHERE session_id = ? AND type = 'session_created' ORDER BY seq",
        (session_id,),
    ).fetchone()
    said = db.execute(
        "SELECT content FROM memory_entries WHERE session_id = ? AND role = 'user' ORDER BY position",
        (session_id,),
    ).fetchone()
    known = json.loads(made["data_json"]) if made else {}
    at = made["at"] if made else now_ms
    return SessionIndex(
        session_id=session_id,
        kind="plan" if "plan" in known else "react",
        title=title_of(said["content"] if said else str(known.get("plan", ""))),
        working_dir=str(known.get("working_dir", ".")),
        agent=str(known.get("agent", "default")),
        model=str(known.get("model", "unknown")),
        created_at=at,
        last_active=at,
    )


def _tell(db: sqlite3.Connection, session_id: str, why: str, now_ms: int) -> None:
    events.append(db, session_id, [NewEvent(type=EventType.SESSION_REPAIRED, data={"why": why})], now_ms)


REPAIRS: dict[str, Repair] = {
    "the file is a sound database": _build_indexes_anew,
    "every row is of a session": _drop_rows_of_nobody,
    "a session that goes on has a task": _give_a_task,
    "a session that has ended waits for nothing": _close_waiting,
    "a session has one live turn": _keep_one_turn,
    "a step at work has a task": _give_steps_their_tasks,
    "a running task has an owner": _let_leases_run_out,
    "the status beside a state is the state's": _take_the_state_s_status,
    "every session can be found": _list_again,
}
