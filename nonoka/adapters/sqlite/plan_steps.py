"""Table ``plan_steps``: what became of a plan's steps, and of the items of those that are fanned out."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from pydantic import JsonValue

from nonoka.adapters.sqlite.queries import queries
from nonoka.records.session import StepStatus
from nonoka.records.step_run import WHOLE, StepRun, StepValue

_Q = queries("plan_steps")


def put(db: sqlite3.Connection, session_id: str, runs: Iterable[StepRun]) -> None:
    """The rows stand so; what they brought stays as it is."""
    db.executemany(
        _Q["put"],
        [
            {
                "session_id": session_id,
                "plan": run.plan,
                "step": run.step,
                "item": run.item,
                "place": run.place,
                "status": run.status.value,
                "phase": run.phase,
                "child": run.child,
                "run_json": run.model_dump_json(exclude_defaults=True),
            }
            for run in runs
        ],
    )


def give_values(db: sqlite3.Connection, session_id: str, plan: int, values: Iterable[StepValue]) -> None:
    """The items work on these values."""
    db.executemany(_Q["give_value"], [_value(session_id, plan, value) for value in values])


def give_results(db: sqlite3.Connection, session_id: str, plan: int, results: Iterable[StepValue]) -> None:
    """The steps, and items, brought this."""
    db.executemany(_Q["give_result"], [_value(session_id, plan, result) for result in results])


def get(db: sqlite3.Connection, session_id: str, plan: int, step: str, item: int) -> StepRun:
    """One row, which is known to exist."""
    names = {"session_id": session_id, "plan": plan, "step": step, "item": item}
    return _run(db.execute(_Q["get"], names).fetchone())


def result(db: sqlite3.Connection, session_id: str, plan: int, step: str) -> tuple[bool, JsonValue]:
    """Whether the step was completed, and what it brought; of one that was fanned out, its items' results."""
    names = {"session_id": session_id, "plan": plan, "step": step}
    row = db.execute(_Q["result"], names).fetchone()
    run = _run(row)
    if run.status is not StepStatus.COMPLETED:
        return False, None
    if run.items is None:
        return True, _loaded(row["result_json"])
    return True, list(item_results(db, session_id, plan, step, run.items))


def item_results(db: sqlite3.Connection, session_id: str, plan: int, step: str, items: int) -> list[JsonValue]:
    """What each item of a step brought, null for those that were not completed."""
    names = {"session_id": session_id, "plan": plan, "step": step, "items": items}
    rows = db.execute(_Q["item_results"], names)
    return [_loaded(row["result_json"]) if row["status"] == "completed" else None for row in rows]


def value(db: sqlite3.Connection, session_id: str, plan: int, step: str, item: int) -> JsonValue:
    """What an item works on."""
    names = {"session_id": session_id, "plan": plan, "step": step, "item": item}
    return _loaded(db.execute(_Q["value"], names).fetchone()["value_json"])


def queued(db: sqlite3.Connection, session_id: str, plan: int, limit: int) -> list[StepRun]:
    """The first rows that wait for room."""
    return [
        _run(row) for row in db.execute(_Q["queued"], {"session_id": session_id, "plan": plan, "limit": limit})
    ]


def unfinished(db: sqlite3.Connection, session_id: str, plan: int) -> list[StepRun]:
    """Every row that has not ended."""
    return [_run(row) for row in db.execute(_Q["unfinished"], {"session_id": session_id, "plan": plan})]


def items(db: sqlite3.Connection, session_id: str, plan: int, step: str) -> list[StepRun]:
    """The rows of a step's items, in order."""
    count = get(db, session_id, plan, step, WHOLE).items or 0
    names = {"session_id": session_id, "plan": plan, "step": step, "items": count}
    return [_run(row) for row in db.execute(_Q["items"], names)]


def with_child(db: sqlite3.Connection, session_id: str, plan: int) -> list[StepRun]:
    """The rows that wait for a session of their own."""
    return [_run(row) for row in db.execute(_Q["with_child"], {"session_id": session_id, "plan": plan})]


def at_work(db: sqlite3.Connection, session_id: str) -> list[StepRun]:
    """The rows that have a live task."""
    return [_run(row) for row in db.execute(_Q["at_work"], {"session_id": session_id})]


def of_plan(db: sqlite3.Connection, session_id: str, plan: int) -> list[tuple[StepRun, JsonValue]]:
    """All rows with what they brought, in the plan's order."""
    rows = db.execute(_Q["of_plan"], {"session_id": session_id, "plan": plan})
    return [(_run(row), _loaded(row["result_json"])) for row in rows]


def of_session(db: sqlite3.Connection, session_id: str) -> list[tuple[StepRun, JsonValue]]:
    """All rows of all plans of a session, with what they brought."""
    rows = db.execute(_Q["of_session"], {"session_id": session_id})
    return [(_run(row), _loaded(row["result_json"])) for row in rows]


def _value(session_id: str, plan: int, value: StepValue) -> dict[str, object]:
    text = json.dumps(value.value, ensure_ascii=False)
    return {"session_id": session_id, "plan": plan, "step": value.step, "item": value.item, "value_json": text}


def _run(row: sqlite3.Row) -> StepRun:
    return StepRun.model_validate_json(row["run_json"])


def _loaded(text: str | None) -> JsonValue:
    found: JsonValue = None if text is None else json.loads(text)
    return found
