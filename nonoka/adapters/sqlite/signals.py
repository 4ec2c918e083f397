"""Table ``signals``: a session's inbox."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from nonoka.adapters.sqlite.queries import queries
from nonoka.decisions.inbox import interrupts
from nonoka.records.commit import NewSignal
from nonoka.records.signal import Signal, SignalKind

_Q = queries("signals")


def insert(db: sqlite3.Connection, session_id: str, signal: NewSignal, now: int, *, drained: bool) -> int:
    """The signal is in the inbox; returns its place there."""
    row = db.execute(
        _Q["insert"],
        {
            "session_id": session_id,
            "kind": signal.kind.value,
            "payload_json": json.dumps(signal.payload, ensure_ascii=False),
            "now": now,
            "drained_at": now if drained else None,
        },
    ).fetchone()
    return int(row["seq"])


def undrained(db: sqlite3.Connection, session_id: str) -> tuple[Signal, ...]:
    """The signals that have had no effect yet, oldest first."""
    return tuple(_signal(row) for row in db.execute(_Q["undrained"], {"session_id": session_id}))


def drain(db: sqlite3.Connection, session_id: str, seqs: Sequence[int], now: int) -> None:
    """These signals have had their effect."""
    if not seqs:
        return
    db.executemany(_Q["drain"], [{"session_id": session_id, "seq": seq, "now": now} for seq in seqs])


def sessions_to_interrupt(db: sqlite3.Connection, worker_id: str) -> set[str]:
    """The sessions whose task this worker runs, with a signal in their inbox that interrupts it."""
    waiting = db.execute(_Q["undrained_of_worker"], {"worker_id": worker_id})
    return {signal.session_id for signal in map(_signal, waiting) if interrupts(signal)}


def _signal(row: sqlite3.Row) -> Signal:
    return Signal(
        session_id=row["session_id"],
        seq=row["seq"],
        kind=SignalKind(row["kind"]),
        payload=json.loads(row["payload_json"]),
        created_at=row["created_at"],
    )
