"""Table ``plans``: what a session runs, read once in a process and kept by its digest."""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict

from nonoka.adapters.sqlite.queries import queries
from nonoka.records.base import JsonObject
from nonoka.records.plan import Plan
from nonoka.records.step_run import NewPlan, PlanDefinition

_Q = queries("plans")
#: Plans that this process has read; a digest names its content, so one is the same in every store.
_read: OrderedDict[str, PlanDefinition] = OrderedDict()
_KEPT = 64


def put(db: sqlite3.Connection, session_id: str, new: NewPlan) -> None:
    """The session has this plan; one of the same number gives way to it."""
    db.execute(
        _Q["put"],
        {
            "session_id": session_id,
            "plan": new.number,
            "digest": new.digest,
            "inputs_json": json.dumps(new.inputs, ensure_ascii=False),
            "plan_json": new.plan.model_dump_json(),
        },
    )


def definition(db: sqlite3.Connection, session_id: str, plan: int, digest: str) -> PlanDefinition:
    """The session's plan of this number and digest."""
    known = _read.get(digest)
    if known is None:
        row = db.execute(_Q["definition"], {"session_id": session_id, "plan": plan}).fetchone()
        known = PlanDefinition(digest, Plan.model_validate_json(row["plan_json"]))
        # Another thread may have read it meanwhile: everybody has the same object.
        known = _read.setdefault(digest, known)
        if len(_read) > _KEPT:
            _read.popitem(last=False)
    return known


def inputs(db: sqlite3.Connection, session_id: str, plan: int) -> JsonObject:
    """The values that the plan was started with."""
    row = db.execute(_Q["inputs"], {"session_id": session_id, "plan": plan}).fetchone()
    found: JsonObject = json.loads(row["inputs_json"])
    return found


def put_out(db: sqlite3.Connection, session_id: str, plan: int, outputs: JsonObject) -> None:
    """The plan's outputs are these."""
    text = json.dumps(outputs, ensure_ascii=False)
    db.execute(_Q["put_out"], {"session_id": session_id, "plan": plan, "outputs_json": text})


def outputs(db: sqlite3.Connection, session_id: str, plan: int) -> JsonObject | None:
    """The plan's outputs, once it was completed."""
    row = db.execute(_Q["outputs"], {"session_id": session_id, "plan": plan}).fetchone()
    found: JsonObject | None = None if row["outputs_json"] is None else json.loads(row["outputs_json"])
    return found
