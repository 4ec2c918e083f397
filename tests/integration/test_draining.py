"""A worker that is told to stop while a call runs: it holds on to it until it is over."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.brokers import BROKERS, project_on
from tests.support.crash_agent import GATE
from tests.support.project import PLAIN, Project

HELD: list[dict[str, object]] = [{"tool_calls": [{"name": "hold", "args": {}}]}, {"text": "done"}]


@pytest.fixture(params=BROKERS)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    with project_on(request.param, tmp_path) as made:
        yield made


async def test_heartbeats_go_on_until_the_last_call_has_ended(project: Project) -> None:
    """SIGTERM: its lease is renewed again and again, and nobody else begins the call, though one would."""
    session_id = await project.create(HELD)
    with project.worker(PLAIN) as stopping:
        await project.until(lambda: len(project.oracle.ran()) == 1, "the call runs")
        stopping.send_signal(signal.SIGTERM)
        with project.worker(PLAIN):
            leases: set[int] = set()

            def several_beats() -> bool:
                leases.add(lease(project))
                return len(leases) > 4

            await project.until(several_beats, "its lease is renewed after the signal")
            (project.directory / GATE).touch()
            assert await asyncio.to_thread(stopping.wait, 30) == 0
            await project.all_completed()
    assert [(one.attempt, one.pid) for one in project.oracle.ran(session_id)] == [(1, stopping.pid)]


def lease(project: Project) -> int:
    """Until when the one claim that there is holds."""
    with closing(sqlite3.connect(f"file:{project.db}?mode=ro", uri=True, timeout=30)) as db:
        [(found,)] = db.execute("SELECT lease_expires_at FROM tasks WHERE status = 'running'")
    return int(found)
