"""``nonoka demo`` as a visitor starts it: it shows a kill and the recovery, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nonoka.adapters.processes import procfs

NONOKA = str(Path(sys.executable).with_name("nonoka"))
PATIENCE_S = 90.0


class Visit:
    """A visitor's empty directory, and the place where the demo makes its own."""

    def __init__(self, path: Path) -> None:
        self.here = path / "here"
        self.scratches = path / "scratch"
        self.here.mkdir()
        self.scratches.mkdir()
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NONOKA_", "OPENAI_", "NO_COLOR"))}
        self.environ = kept | {"TMPDIR": str(self.scratches)}

    def demo(self, *args: str, cwd: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        """The demo has ended."""
        return subprocess.run(
            [NONOKA, "demo", *args],
            cwd=cwd or self.here,
            env=self.environ | environ,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def processes(self) -> list[int]:
        """The living processes that work in the demo's directory."""
        living = [one.pid for one in procfs.processes() if one.living]
        return [pid for pid in living if _directory(pid).is_relative_to(self.scratches)]


def _directory(pid: int) -> Path:
    try:
        return Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return Path("/")


def until(fact: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not fact():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


@pytest.fixture
def visit(tmp_path: Path) -> Visit:
    return Visit(tmp_path)


def test_it_shows_the_kill_and_the_recovery_and_checks_them(visit: Visit) -> None:
    done = visit.demo()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    shown = done.stdout
    pids = dict(re.findall(r"worker ([AB]) +is up: pid (\d+)", shown))
    killed = re.search(
        r"SIGKILL +worker ([AB]) \(pid (\d+)\), which holds turn 2 of build\n +in the middle of (.*)\n(.*)", shown
    )
    assert killed is not None
    assert pids[killed[1]] == killed[2]
    call = re.fullmatch(r"call_2_0 \(attempt 1, key (\S+)\): a file is moved,", killed[3])
    assert call is not None
    assert re.search(r"\d of 6 lines are appended: not safe to repeat", killed[4])
    after = shown[killed.end() :]
    steps = (
        "recovered: turn 2 is taken",
        "settled: what call_2_0 had started is ended; rolled back to its snapshot: 4 files",
        f"attempt 2, the same key {call[1]}",
        "completed",
    )
    places = [after.index(step) if step != "completed" else after.rindex(step) for step in steps]
    assert places == sorted(places)
    assert re.search(r"build +[0-9a-f]{8} +completed +4 +3 +4 +\d+ ms\n", after)
    assert "─ ✂ ─ ↶ 4 ─ ↻ run_command ─" in after
    assert len(re.findall("^  ✓ ", after, re.MULTILINE)) == 8
    assert "✗" not in after
    assert "\x1b" not in shown


def test_it_leaves_nothing_behind(visit: Visit) -> None:
    """Nor does it need the current directory, or mind the settings of who calls it."""
    (visit.here / "nonoka.toml").write_text('model = "openai:none"\nmax_model_turns = 1\n', encoding="utf-8")
    done = visit.demo(NONOKA_DB="/proc/none.db", NONOKA_MAX_TOOL_CALLS="0", NONOKA_AGENT="none.py:none")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [entry.name for entry in visit.here.iterdir()] == ["nonoka.toml"]
    assert list(visit.scratches.iterdir()) == []
    assert visit.processes() == []


def test_what_is_kept_can_be_looked_at(visit: Visit) -> None:
    """Also from a directory that nobody can write to; in colour on a terminal."""
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [NONOKA, "demo", "--keep"],
        cwd="/proc",
        env=visit.environ | {"TERM": "xterm-256color"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    ) as process:
        os.close(terminal)
        shown = _read_all(controller)
    assert process.returncode == 0, shown
    assert "\x1b[" in shown
    (kept,) = visit.scratches.iterdir()
    assert f"cd {kept}" in shown
    listed = subprocess.run(
        [NONOKA, "sessions", "list", "--json"],
        cwd=kept,
        env=visit.environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    assert [line["status"] for line in json.loads(listed.stdout)] == ["completed"] * 3


def _read_all(controller: int) -> str:
    found = b""
    while True:
        try:
            piece = os.read(controller, 65536)
        except OSError:
            # what a terminal says once nobody holds its other end
            break
        if not piece:
            break
        found += piece
    os.close(controller)
    return found.decode()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_who_interrupts_it_ends_all_that_it_started(visit: Visit, number: signal.Signals, status: int) -> None:
    """In the worst moment: a worker is dead, and its command runs on without it."""
    with subprocess.Popen(
        [NONOKA, "demo"],
        cwd=visit.here,
        env=visit.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "SIGKILL   worker" in line:
                break
        assert len(visit.processes()) >= 2
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == status, said
    assert "interrupted" in said
    assert visit.processes() == []
    assert list(visit.scratches.iterdir()) == []


def test_a_worker_that_cannot_start_ends_it_with_a_clear_message(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "broken" / "workers").mkdir(parents=True)
    (tmp_path / "broken" / "workers" / "__init__.py").write_text("raise SystemExit('no worker today')")
    done = visit.demo(PYTHONPATH=str(tmp_path / "broken"))
    assert done.returncode == 1
    assert re.search(r"worker [AB] \(pid \d+\) ended by itself, with status 1", done.stderr)
    assert done.stderr.rstrip().endswith("ends with: no worker today")
    assert len(done.stderr.splitlines()) == 1
    until(lambda: visit.processes() == [])
    (kept,) = visit.scratches.iterdir()
    assert f"{kept}/workers.log" in done.stderr
