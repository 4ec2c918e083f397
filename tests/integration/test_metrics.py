"""``nonoka worker --metrics``: one port, and what it says is right over all processes and their deaths."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

from prometheus_client import generate_latest

from nonoka.records.event import EventType
from tests.support.crash_agent import GATE
from tests.support.project import Project, children
from workers.facts import Fact
from workers.metrics import Metrics

ANYWHERE = ("127.0.0.1", 0)
CALLS: list[dict[str, object]] = [
    *({"tool_calls": [{"name": "pay", "args": {"amount": n}}]} for n in range(3)),
    {"text": "done"},
]
HELD: list[dict[str, object]] = [{"tool_calls": [{"name": "hold", "args": {}}]}, {"text": "done"}]
_NONOKA = "import sys; from nonoka.entrypoints.cli.main import main; sys.exit(main())"


def served(project: Project) -> dict[str, float]:
    """Every sample of a scrape, by its name with its labels."""
    [url] = re.findall(r"metrics at (\S+)", project.log.read_text())
    with urllib.request.urlopen(url, timeout=30) as answer:
        text: str = answer.read().decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def says(project: Project, **wanted: float) -> Callable[[], bool]:
    """Whether a scrape has these values by now: a worker's process tells them when it has committed."""

    def fact() -> bool:
        if "metrics at" not in project.log.read_text():
            return False
        found = served(project)
        return all(found.get(f"nonoka_{name}", 0) == value for name, value in wanted.items())

    return fact


async def test_the_counters_are_those_of_all_processes_and_outlive_them(tmp_path: Path) -> None:
    """Two processes; the one that runs a call is killed. Nothing of what it had done is forgotten."""
    project = Project(tmp_path)
    held = await project.create(HELD, name="held")
    others = [await project.create(CALLS, name="others") for _ in range(6)]
    with project.supervisor(processes=2, metrics=ANYWHERE) as supervisor:
        await project.until(lambda: sorted(project.statuses()) == ["completed"] * 6 + ["running"], "one is left")
        [holder] = [one.pid for one in project.oracle.ran(held)]
        expected = {"claims_total": 6 * 4 + 1, 'task_duration_seconds_count{kind="turn"}': 6 * 4}
        await project.until(says(project, **expected), f"the metrics say {expected}")
        assert served(project)['nonoka_tasks{state="running"}'] == 1
        os.kill(holder, signal.SIGKILL)
        await project.until(lambda: len(project.oracle.ran(held)) == 2, "the call runs again")
        (project.directory / GATE).touch()
        await project.all_completed()
        expected = {
            "claims_total": 6 * 4 + 3,
            "deaths_total": 1,
            "recoveries_total": 1,
            "retries_total": 0,
            "process_exits_total": 1,
            'task_duration_seconds_count{kind="turn"}': 6 * 4 + 2,
            'call_duration_seconds_count{tool="pay"}': 6 * 3,
            'call_duration_seconds_count{tool="hold"}': 1,
            'tasks{state="ready"}': 0,
            'tasks{state="running"}': 0,
            "oldest_ready_seconds": 0,
            "store_readable": 1,
        }
        await project.until(says(project, **expected), f"the metrics say {expected}")
        await project.until(lambda: len(children(supervisor.pid)) == 2, "another process takes its place")
    claims = [
        e for s in (held, *others) for e in (await project.detail(s)).events if e.type is EventType.TURN_STARTED
    ]
    assert len(claims) == 6 * 4 + 3


def test_a_store_that_cannot_be_read_is_told_and_the_counters_are_there_all_the_same() -> None:
    metrics = Metrics(lambda: None)
    metrics.note(Fact("claim"))
    text = generate_latest(metrics.registry).decode()
    assert "nonoka_store_readable 0.0" in text
    assert "nonoka_claims_total 1.0" in text
    assert "nonoka_tasks" not in text


def worker(project: Project, before: str, *options: str) -> subprocess.CompletedProcess[str]:
    """``nonoka worker`` with these options has ended."""
    return subprocess.run(
        [sys.executable, "-c", before + _NONOKA, "worker", *options],
        cwd=project.workspace,
        env={"PATH": os.environ["PATH"], "NONOKA_DB": str(project.db)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


async def test_a_port_that_is_taken_is_told_before_any_worker_starts(tmp_path: Path) -> None:
    """One line, status 2; no store was made either."""
    project = Project(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = await asyncio.to_thread(worker, project, "", "--metrics", str(port))
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith(f"nonoka: error: the metrics can't be served on 127.0.0.1 port {port}")
    assert not project.db.exists()


async def test_without_its_library_the_option_names_the_extra(tmp_path: Path) -> None:
    missing = "import sys; sys.modules['prometheus_client'] = None; "
    done = await asyncio.to_thread(worker, Project(tmp_path), missing, "--metrics", "0")
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert "extra 'metrics'" in line
