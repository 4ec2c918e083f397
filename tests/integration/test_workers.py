"""Worker processes as they are started, stopped and lost."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from nonoka.adapters.processes import procfs
from nonoka.records.session import SessionStatus
from nonoka.records.task import TaskStatus
from tests.support.crash_agent import GATE
from tests.support.project import PLAIN, Project, children

CHAIN = [*({"tool_calls": [{"name": "pay", "args": {"amount": n}}]} for n in range(5)), {"text": "done"}]
HELD = [{"tool_calls": [{"name": "hold", "args": {}}]}, {"text": "done"}]


def living(pid: int) -> bool:
    found = procfs.process(pid)
    return found is not None and found.living


async def test_every_call_of_many_sessions_on_many_processes_runs_once(tmp_path: Path) -> None:
    """Three processes share twenty sessions of six turns on one file."""
    project = Project(tmp_path)
    sessions = [await project.create(CHAIN) for _ in range(20)]
    with project.supervisor(processes=3):
        await project.all_completed()
    ran = [one.idempotency_key for one in project.oracle.ran()]
    assert len(ran) == len(set(ran)) == 5 * len(sessions)
    assert len({one.pid for one in project.oracle.ran()}) > 1


async def test_a_killed_process_is_replaced(tmp_path: Path) -> None:
    """The supervisor goes on with as many as it was told."""
    project = Project(tmp_path)
    async with project.store():
        pass
    with project.supervisor(processes=2) as supervisor:
        await project.until(lambda: len(children(supervisor.pid)) == 2, "two children")
        first = children(supervisor.pid)
        os.kill(first[0], signal.SIGKILL)
        await project.until(
            lambda: len(children(supervisor.pid)) == 2 and first[0] not in children(supervisor.pid),
            "a new child in its place",
        )


async def test_worker_processes_end_with_a_killed_supervisor(tmp_path: Path) -> None:
    """The kernel tells them."""
    project = Project(tmp_path)
    async with project.store():
        pass
    with project.supervisor(processes=2) as supervisor:
        await project.until(lambda: len(children(supervisor.pid)) == 2, "two children")
        pids = children(supervisor.pid)
        await project.until(lambda: _registered(project) == 2, "both are workers")
        supervisor.kill()
        await project.until(lambda: not any(living(pid) for pid in pids), "the children are gone")


async def test_a_stopped_worker_hands_back_what_it_holds(tmp_path: Path) -> None:
    """SIGTERM, and again: the call is settled, its task ready for another, nothing counts as a death."""
    project = Project(tmp_path)
    session_id = await project.create(HELD)
    with project.worker(PLAIN) as worker:
        await project.until(lambda: len(project.oracle.ran()) == 1, "the call runs")
        worker.send_signal(signal.SIGTERM)
        worker.send_signal(signal.SIGTERM)
        (project.directory / GATE).touch()
        await project.until(lambda: worker.poll() is not None, "the worker has ended")
        assert worker.returncode == 0
    detail = await project.detail(session_id)
    [task] = detail.tasks if len(detail.tasks) == 1 else detail.tasks[-1:]
    assert task.status in (TaskStatus.READY, TaskStatus.DONE)
    assert task.deaths == 0
    assert _registered(project) == 0
    with project.worker(PLAIN):
        await project.all_completed()
    assert (await project.detail(session_id)).state.status is SessionStatus.COMPLETED


async def test_dramatiqs_own_command_line_runs_the_workers(tmp_path: Path) -> None:
    """``dramatiq workers.main`` works, and SIGTERM ends it with 0."""
    project = Project(tmp_path)
    await project.create(CHAIN)
    with project.worker(["-m", "dramatiq", "workers.main", "--processes", "1", "--threads", "2"]) as master:
        await project.all_completed()
        master.send_signal(signal.SIGTERM)
        assert master.wait(30) == 0


async def test_a_worker_that_cannot_use_the_store_says_so_and_is_not_started_again(tmp_path: Path) -> None:
    """One line on stderr, no traceback, status 1 from the supervisor."""
    project = Project(tmp_path)
    async with project.store():
        pass
    with closing(sqlite3.connect(project.db)) as db:
        db.execute("PRAGMA user_version = 99")
    with project.supervisor(processes=1) as supervisor:
        await project.until(lambda: supervisor.poll() is not None, "the supervisor has given up")
        assert supervisor.returncode == 1
    said = project.log.read_text()
    assert "newer nonoka" in said
    assert "Traceback" not in said


def test_the_workers_package_is_ours_in_a_project_that_has_one_of_its_own(tmp_path: Path) -> None:
    """A directory named workers in the current directory doesn't hide it."""
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "__init__.py").write_text("raise SystemExit('theirs')")
    (tmp_path / "workers" / "process.py").write_text("raise SystemExit('theirs')")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "workers.process", "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    assert "--threads" in done.stdout


def _registered(project: Project) -> int:
    with closing(sqlite3.connect(f"file:{project.db}?mode=ro", uri=True, timeout=30)) as db:
        return int(db.execute("SELECT COUNT(*) FROM workers").fetchone()[0])
