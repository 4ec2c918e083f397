"""However a command ends, what it says last is what became of the session, and how to go on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.program import NONOKA, PATIENCE_S, Project, first_line, until

ANSWER = "- {text: All is well.}\n- {text: And this too.}\n"
REFUSED = "- {text: x, error: {status: 401, times: 1}}\n"
SLOW = """\
- {tool_calls: [{name: run_command, args: {command: "trap '' TERM; echo begun >> log; sleep 60"}}]}
- {text: Finished.}
"""

Make = Callable[[str], Project]


@pytest.fixture
def project(tmp_path: Path) -> Make:
    return lambda script: Project(tmp_path, script)


def test_an_id_that_stdout_takes_not_is_on_stderr(project: Make) -> None:
    """The session is stored, and who reads the errors knows which one it is."""
    nonoka = project(ANSWER)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [NONOKA, "enqueue", "Hello"],
            cwd=nonoka.path,
            env=nonoka.environ,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    [line] = nonoka.json("sessions", "list")
    assert done.returncode == 1
    assert f"stored {line['session_id']}, but stdout takes no id: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("script", "verb", "status"), [(ANSWER, "resume", "paused"), (REFUSED, "retry", "failed")]
)
def test_a_session_that_was_taken_up_says_so_until_a_worker_has_it(
    project: Make, script: str, verb: str, status: str
) -> None:
    """Its status is what it was: nobody has read the signal yet."""
    nonoka = project(script)
    session_id = nonoka("enqueue", "Hello").stdout.strip()
    if status == "paused":
        nonoka("sessions", "pause", session_id)
    else:
        nonoka("sessions", "resume", session_id, "--here")
    assert nonoka.show(session_id)["status"] == status
    assert "taken up" not in nonoka("sessions", "list").stdout
    assert nonoka("sessions", verb, session_id).returncode == 0
    page = nonoka("sessions", "show", session_id).stdout
    assert f"{status}; a {verb} in its inbox waits for a worker\n" in page
    assert f"{status}, taken up" in nonoka("sessions", "list").stdout
    assert nonoka.show(session_id)["status"] == status


def test_a_ctrl_c_while_the_process_ends_changes_nothing_of_its_status() -> None:
    """What it had to say is said; Python itself has nothing left that could be interrupted."""
    program = (
        "import os, signal, sys; from nonoka.entrypoints.cli.main import main\n"
        "status = main(); os.kill(os.getpid(), signal.SIGINT); sys.exit(status)"
    )
    command = [sys.executable, "-c", program, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("pause_s", [0.0, 0.05, 0.3, 1.5])
def test_however_often_ctrl_c_comes_the_last_line_says_how_to_go_on(project: Make, pause_s: float) -> None:
    """Paused, or left at once; and that is so."""
    nonoka = project(SLOW)
    with nonoka.started("run", "Work") as run:
        session_id = first_line(run)
        until(nonoka.begun)
        while run.poll() is None:
            run.send_signal(signal.SIGINT)
            time.sleep(pause_s)
        _, said = run.communicate(timeout=PATIENCE_S)
    last = said.strip().splitlines()[-1]
    assert run.returncode == 130
    assert f"nonoka sessions resume {session_id} --here" in last, said
    status = nonoka.show(session_id)["status"]
    assert ("paused" in last, "left at once" in last) == (status == "paused", status == "running"), (last, status)
