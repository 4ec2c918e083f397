"""Table ``events``: the timeline."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from nonoka.adapters.sqlite.json_text import json_text
from nonoka.adapters.sqlite.queries import queries
from nonoka.records.event import Event, EventType, NewEvent

_Q = queries("events")


def append(db: sqlite3.Connection, session_id: str, events: Sequence[NewEvent], now: int) -> None:
    """The events are at the end of the session's timeline."""
    if not events:
        return
    last = db.execute(_Q["last_seq"], {"session_id": session_id}).fetchone()["seq"]
    db.executemany(
        _Q["insert"],
        [
            {
                "session_id": session_id,
                "seq": seq,
                "at": now,
                "type": event.type.value,
                "data_json": json_text(event.data),
            }
            for seq, event in enumerate(events, start=last + 1)
        ],
    )


def after(db: sqlite3.Connection, session_id: str, seq: int, limit: int) -> list[Event]:
    """The timeline after a place in it; a negative limit is none."""
    rows = db.execute(_Q["after"], {"session_id": session_id, "seq": seq, "limit": limit})
    return [
        Event(
            session_id=row["session_id"],
            seq=row["seq"],
            at=row["at"],
            type=EventType(row["type"]),
            data=json.loads(row["data_json"]),
        )
        for row in rows
    ]
