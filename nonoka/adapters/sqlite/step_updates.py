"""Table ``step_updates``: rows of progress inside a task."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from nonoka.adapters.sqlite.json_text import json_text
from nonoka.adapters.sqlite.queries import queries
from nonoka.records.step_update import StepUpdate

_Q = queries("step_updates")


def put(db: sqlite3.Connection, session_id: str, updates: Sequence[StepUpdate]) -> None:
    """Each row replaces the older one of its step and type, and is the newest of the store."""
    if not updates:
        return
    db.executemany(
        _Q["put"],
        [
            {
                "session_id": session_id,
                "step_id": update.step_id,
                "update_type": update.update_type,
                "payload_json": json_text(update.payload),
            }
            for update in updates
        ],
    )


def statuses_of_turn(db: sqlite3.Connection, session_id: str, turn: int) -> list[StepUpdate]:
    """The status rows of a turn's calls."""
    # ";" is the character after ":", so this is every step_id that begins with "turn:N/call:".
    bounds = {"session_id": session_id, "first": f"turn:{turn}/call:", "end": f"turn:{turn}/call;"}
    return [_update(row) for row in db.execute(_Q["statuses_of_turn"], bounds)]


def of_session(db: sqlite3.Connection, session_id: str) -> list[StepUpdate]:
    """Every row of a session in the store's order."""
    return [_update(row) for row in db.execute(_Q["of_session"], {"session_id": session_id})]


def _update(row: sqlite3.Row) -> StepUpdate:
    return StepUpdate(
        seq=row["seq"],
        step_id=row["step_id"],
        update_type=row["update_type"],
        payload=json.loads(row["payload_json"]),
    )
