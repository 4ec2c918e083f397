"""Table ``tasks``: what workers run. Each change of a claim raises the fence."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from nonoka.adapters.sqlite.queries import queries
from nonoka.records.commit import Claim, DueTask, ReadyTask, TaskOutcome
from nonoka.records.task import Task, task_id_of, turn_key
from nonoka.records.workload import Workload

_Q = queries("tasks")


@dataclass(frozen=True, slots=True)
class Held:
    """A task under its claim, the version of its session, and whether signals wait there, or locks anywhere."""

    task: Task
    version: int | None
    has_signals: bool
    has_locks: bool


def insert_turn(db: sqlite3.Connection, session_id: str, key: str, not_before: int) -> str:
    """A turn's task is ready; returns its id. A key that the session has already is an error."""
    task_id = task_id_of(session_id, key)
    db.execute(
        _Q["insert"],
        {"task_id": task_id, "session_id": session_id, "kind": "turn", "key": key, "not_before": not_before},
    )
    return task_id


def insert_next_turn(db: sqlite3.Connection, session_id: str, now: int) -> str:
    """A turn with the next free number is ready; returns its task's id."""
    highest = db.execute(_Q["highest_turn"], {"session_id": session_id}).fetchone()["number"]
    return insert_turn(db, session_id, turn_key(highest + 1), now)


def insert_finished_turn(db: sqlite3.Connection, session_id: str, number: int) -> None:
    """The session has had a turn of this number, so that the next one is numbered after it."""
    task_id = insert_turn(db, session_id, turn_key(number), 0)
    db.execute(_Q["finish"], {"task_id": task_id, "status": "done", "retries": 0, "deaths": 0})


def get(db: sqlite3.Connection, task_id: str) -> Task:
    """The task with this id, which is known to exist."""
    return _task(db.execute(_Q["get"], {"task_id": task_id}).fetchone())


def of_session(db: sqlite3.Connection, session_id: str) -> tuple[Task, ...]:
    """All tasks of a session, oldest first."""
    return tuple(_task(row) for row in db.execute(_Q["of_session"], {"session_id": session_id}))


def live_of_session(db: sqlite3.Connection, session_id: str) -> tuple[Task, ...]:
    """The session's tasks that are ready, running or waiting."""
    return tuple(_task(row) for row in db.execute(_Q["live_of_session"], {"session_id": session_id}))


def ready(db: sqlite3.Connection, limit: int) -> list[ReadyTask]:
    """The tasks that wait to be claimed or for their time, the longest due first, each with why it was retried."""
    return [_ready(row) for row in db.execute(_Q["ready"], {"limit": limit})]


def workload(db: sqlite3.Connection, now: int) -> Workload:
    """The live tasks, counted."""
    return Workload(**dict(db.execute(_Q["workload"], {"now": now}).fetchone()))


def due(db: sqlite3.Connection, now: int, limit: int, agents_to_skip: Sequence[str]) -> list[DueTask]:
    """The tasks that are due and not just sent, longest due first."""
    values = {"now": now, "limit": limit, "agents_to_skip": json.dumps(list(agents_to_skip))}
    return [DueTask(**dict(row)) for row in db.execute(_Q["due"], values)]


def others_due(db: sqlite3.Connection, since: int, session_id: str) -> bool:
    """Whether a task of another session has been due since then."""
    values = {"since": since, "session_id": session_id}
    return db.execute(_Q["others_due"], values).fetchone() is not None


def mark_due(
    db: sqlite3.Connection, now: int, limit: int, agents_to_skip: Sequence[str], *, sharing: int
) -> list[DueTask]:
    """The tasks that are due and not just sent are marked as sent now: the share of one of ``sharing`` workers."""
    found = due(db, now, limit * sharing, agents_to_skip)
    found = found[: -(-len(found) // sharing)]
    db.executemany(_Q["mark_sent"], [{"task_id": task.task_id, "now": now} for task in found])
    return found


def claimable(
    db: sqlite3.Connection,
    now: int,
    *,
    task_id: str | None,
    session_id: str | None,
    agents_to_skip: Sequence[str],
    most_deaths: int,
) -> str | None:
    """The id of the task to claim: the named one if it is due, else the longest due one."""
    values = {
        "now": now,
        "task_id": task_id,
        "session_id": session_id,
        "agents_to_skip": json.dumps(list(agents_to_skip)),
        "most_deaths": most_deaths,
    }
    row = None
    if task_id is not None:
        row = db.execute(_Q["claimable_by_id"], values).fetchone()
    if row is None:
        statement = "claimable" if session_id is None else "claimable_of_session"
        row = db.execute(_Q[statement], values).fetchone()
    return None if row is None else str(row["task_id"])


def claim(db: sqlite3.Connection, task_id: str, worker_id: str, lease_expires_at: int) -> Task:
    """The ready task runs under this worker's new claim."""
    values = {"task_id": task_id, "worker_id": worker_id, "lease_expires_at": lease_expires_at}
    return _task(db.execute(_Q["claim"], values).fetchone())


def held(db: sqlite3.Connection, claim: Claim) -> Held | None:
    """The task, if it runs under exactly this claim."""
    row = db.execute(
        _Q["held"], {"task_id": claim.task_id, "fence": claim.fence, "worker_id": claim.worker_id}
    ).fetchone()
    if row is None:
        return None
    fields = dict(row)
    version = fields.pop("version")
    has_signals, has_locks = bool(fields.pop("has_signals")), bool(fields.pop("has_locks"))
    return Held(Task.model_validate(fields), version, has_signals, has_locks)


def settle_outcome(db: sqlite3.Connection, task_id: str, outcome: TaskOutcome, lease_expires_at: int) -> Task:
    """The claimed task stands as the commit says."""
    values: dict[str, object] = {"task_id": task_id, "retries": outcome.retries, "deaths": outcome.deaths}
    more: dict[str, object]
    if outcome.kind == "keep":
        statement, more = "keep", {"lease_expires_at": lease_expires_at}
    elif outcome.kind == "waiting":
        statement, more = "wait", {"waits_for": outcome.waits_for, "not_before": outcome.not_before}
    elif outcome.kind == "ready":
        statement, more = "release", {"not_before": outcome.not_before}
    else:
        statement, more = "finish", {"status": outcome.kind}
    return _task(db.execute(_Q[statement], values | more).fetchone())


def close_others(db: sqlite3.Connection, session_id: str, task_id: str) -> None:
    """No other task of the session may commit any more."""
    db.execute(_Q["close_others"], {"session_id": session_id, "task_id": task_id})


def close(db: sqlite3.Connection, task_id: str) -> None:
    """The task may not commit any more."""
    db.execute(_Q["close"], {"task_id": task_id})


def let_unowned_run_out(db: sqlite3.Connection, session_id: str) -> None:
    """The leases of this session's tasks whose owner has no row have run out."""
    db.execute(_Q["let_unowned_run_out"], {"session_id": session_id})


def make_due(db: sqlite3.Connection, session_id: str, now: int) -> None:
    """What waited for its time in this session is due now."""
    db.execute(_Q["make_due"], {"session_id": session_id, "now": now})


def wake(db: sqlite3.Connection, task_id: str) -> None:
    """A task that waited for something is ready."""
    db.execute(_Q["wake"], {"task_id": task_id})


def wake_session(db: sqlite3.Connection, session_id: str) -> None:
    """What waited for its workspace in this session is ready, to hear of a signal."""
    db.execute(_Q["wake_session"], {"session_id": session_id})


def open_step(db: sqlite3.Connection, session_id: str, key: str, now: int) -> None:
    """A step's task is ready; one that had ended is again, as if new but for its fence and attempts."""
    names = {"task_id": task_id_of(session_id, key), "session_id": session_id, "key": key, "not_before": now}
    db.execute(_Q["open_step"], names)


def take_off(db: sqlite3.Connection, task_id: str) -> None:
    """A task that nobody runs is done without having been."""
    db.execute(_Q["take_off"], {"task_id": task_id})


def unclaimed_steps(db: sqlite3.Connection, session_id: str) -> list[str]:
    """The keys of a session's step tasks that are ready, or wait for the workspace."""
    return [str(row["key"]) for row in db.execute(_Q["unclaimed_steps"], {"session_id": session_id})]


def another_runs(db: sqlite3.Connection, session_id: str, task_id: str) -> bool:
    """Whether another task of the session is running."""
    names = {"session_id": session_id, "task_id": task_id}
    return db.execute(_Q["another_runs"], names).fetchone() is not None


def wake_for(db: sqlite3.Connection, waits_for: str) -> tuple[str, ...]:
    """Every task that waits for this is ready; returns them."""
    found = tuple(str(row["task_id"]) for row in db.execute(_Q["waiting_for"], {"waits_for": waits_for}))
    for task_id in found:
        wake(db, task_id)
    return found


def renew(db: sqlite3.Connection, worker_id: str, lease_expires_at: int) -> dict[str, int]:
    """All leases of a worker run anew; returns the fences it holds by task."""
    rows = db.execute(_Q["renew"], {"worker_id": worker_id, "lease_expires_at": lease_expires_at})
    return {row["task_id"]: row["fence"] for row in rows}


def running(db: sqlite3.Connection) -> list[Task]:
    """Every task that is claimed."""
    return [_task(row) for row in db.execute(_Q["running"])]


def take_over(db: sqlite3.Connection, task: Task, worker_id: str, lease_expires_at: int) -> bool:
    """The claim is this worker's under a raised fence; False if it changed meanwhile."""
    values = {
        "task_id": task.task_id,
        "fence": task.fence,
        "worker_id": worker_id,
        "lease_expires_at": lease_expires_at,
    }
    return db.execute(_Q["take_over"], values).rowcount == 1


def owned_count(db: sqlite3.Connection, worker_id: str) -> int:
    """How many tasks this worker runs."""
    return int(db.execute(_Q["owned_count"], {"worker_id": worker_id}).fetchone()["number"])


def _ready(row: sqlite3.Row) -> ReadyTask:
    fields = dict(row)
    why = json.loads(fields.pop("why") or "{}")
    return ReadyTask(
        task=Task.model_validate(fields), error_type=why.get("error_type"), message=why.get("message")
    )


def _task(row: sqlite3.Row) -> Task:
    return Task.model_validate(dict(row))
