"""A signal that has its effect in the process that left it, where no worker has the session."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nonoka import Runner
from nonoka.records.session import SessionStatus


@pytest.mark.parametrize("deaths", [0, 3])
async def test_a_cancel_is_heeded_whatever_the_task_has_cost(tmp_path: Path, deaths: int) -> None:
    """Also one that has to run alone: nobody else is there to take it."""
    script = tmp_path / "script.yaml"
    script.write_text("- text: done\n")
    async with Runner(cwd=tmp_path, model=f"script:{script}") as runner:
        session_id = await runner.enqueue(None, "hello")
        with closing(sqlite3.connect(tmp_path / ".nonoka" / "sessions.db")) as db, db:
            db.execute("UPDATE tasks SET deaths = ?", (deaths,))
        await runner.cancel_session(session_id)
        standing = await runner.heed(session_id)
        assert standing.status is SessionStatus.CANCELLED
        assert standing.at_rest
