"""A ``sessions.db`` that nonoka 1.3.8 and its command line wrote: five sessions, as their process left them.

``11111111`` is completed with two calls, ``22222222`` was killed while its call ``pay`` ran, ``33333333`` had two
prompts, ``44444444`` failed, ``55555555`` is a plan. Local times were written in UTC, but for the list's.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

COMPLETED = "11111111-aaaa-4bbb-8ccc-000000000001"
KILLED = "22222222-aaaa-4bbb-8ccc-000000000002"
TWO_PROMPTS = "33333333-aaaa-4bbb-8ccc-000000000003"
FAILED = "44444444-aaaa-4bbb-8ccc-000000000004"
PLAN = "55555555-aaaa-4bbb-8ccc-000000000005"

_DUMP = Path(__file__).parent / "legacy" / "nonoka_1_3_8.sql"


def write_legacy_store(file: Path) -> None:
    """The file is there, as that program leaves it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(_DUMP.read_text(encoding="utf-8"))
