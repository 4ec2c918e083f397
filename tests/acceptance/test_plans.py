"""Plans with the real ``nonoka`` program, as a person or a script runs them."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.support.program import Project, first_line, on_terminal, until

PLAN = """\
name: demo
inputs: {word: {type: string, default: hello}}
steps:
  - {id: say, tool: run_command, args: {command: "echo ${inputs.word}"}, effect: idempotent}
  - {id: each, for_each: [1, 2], tool: run_command, args: {command: "echo ${item}"}, effect: idempotent}
  - {id: need, tool: read_file, args: {path: needed.txt}, depends_on: say}
  - {id: end, tool: run_command, args: {command: "echo '${need}' ${each[1].output}"}}
finally:
  - {id: tidy, tool: list_files, args: {}}
outputs: {said: "${say.output}", end: "${end.exit_code}"}
"""
SLOW = """\
name: slow
steps:
  - {id: first, tool: run_command, args: {command: "echo first >> log"}}
  - id: hold
    tool: run_command
    args: {command: "echo begun >> log; while [ ! -e GATE ]; do sleep 0.05; done"}
    depends_on: first
  - {id: last, tool: run_command, args: {command: "echo last >> log"}, depends_on: hold}
"""


@pytest.fixture
def nonoka(tmp_path: Path) -> Project:
    project = Project(tmp_path, "- {text: unused}\n")
    (tmp_path / "plan.yaml").write_text(PLAN)
    # Beside the workspace: what a command that was cut off may have changed in it is rolled back.
    (tmp_path / "slow.yaml").write_text(SLOW.replace("GATE", str(gate_of(project))))
    return project


def test_a_failed_plan_is_mended_and_retried_and_what_was_done_stays(nonoka: Project) -> None:
    """run tells the steps, show their attempts and the critical path; retry goes on from what failed."""
    done = nonoka("run", "--plan", "plan.yaml", "--input", "word=hi")
    session_id = first_of(done.stderr)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert any(line.startswith("say ok ") and "hi" in line for line in lines)
    assert any(line.startswith("need failed ") for line in lines)
    assert "end skipped: the plan failed" in lines
    assert any(line.startswith("tidy ok ") for line in lines)
    assert lines[-1].startswith("failed · 5 steps · ")
    assert "step_failed: step 'need': tool_failed:" in done.stderr

    page = nonoka("sessions", "show", session_id).stdout
    assert "critical path: " in page
    assert "2 items: 2 completed" in page

    (nonoka.path / "needed.txt").write_text("here")
    again = nonoka("sessions", "retry", session_id, "--here")
    assert again.returncode == 0, again.stderr
    found = nonoka.show(session_id)
    assert (found["kind"], found["status"], found["result"]) == ("plan", "completed", {"said": "hi\n", "end": 0})
    for words in (["rollback", session_id, "--to", "1"], ["fork", session_id, "--at", "1"]):
        refused = nonoka("sessions", *words)
        assert (refused.returncode, "nonoka sessions retry --from STEP" in refused.stderr) == (2, True)
    steps = {step["step_id"]: step for step in found["steps"]}
    assert (steps["plan:1/step:say"]["attempt"], steps["plan:1/step:need"]["attempt"]) == (1, 2)
    assert steps["plan:1/step:each/item:1"]["result"]["output"] == "2\n"


def test_an_edited_plan_takes_the_place_of_the_failed_one(nonoka: Project) -> None:
    session_id = first_of(nonoka("run", "--plan", "plan.yaml").stderr)
    edited = PLAN.replace("needed.txt", "plan.yaml").replace(
        "  - {id: each", "  - {id: more, tool: list_files}\n  - {id: each"
    )
    (nonoka.path / "plan.yaml").write_text(edited)
    again = nonoka("sessions", "retry", session_id, "--plan", "plan.yaml", "--here")
    assert again.returncode == 0, again.stderr
    assert "nonoka: the plan: changed need; added more" in again.stderr
    assert nonoka.show(session_id)["status"] == "completed"


def test_quiet_prints_the_outputs_alone_as_json(nonoka: Project) -> None:
    (nonoka.path / "needed.txt").write_text("here")
    done = nonoka("run", "--quiet", "--plan", "plan.yaml")
    assert json.loads(done.stdout) == {"said": "hello\n", "end": 0}


def test_a_plan_with_errors_stores_nothing(nonoka: Project) -> None:
    (nonoka.path / "plan.yaml").write_text(
        PLAN.replace("${say.output}", "${sey.output}").replace("read_file", "red_file")
    )
    done = nonoka("run", "--plan", "plan.yaml", "--input", "word=hi")
    assert done.returncode == 2
    assert "plan.yaml:6: " in done.stderr
    assert "plan.yaml:10: " in done.stderr
    assert nonoka.json("sessions", "list") == []
    assert nonoka("run", "--input", "a=b", "go on").returncode == 2
    assert nonoka("run", "--plan", "plan.yaml", "and a prompt").returncode == 2


def test_a_killed_run_goes_on_where_it_stood(nonoka: Project) -> None:
    """What was completed is not done again; the step that was cut off is."""
    with nonoka.started("run", "--plan", "slow.yaml") as process:
        session_id = first_line(process)
        until(lambda: (nonoka.path / "log").exists() and "begun" in (nonoka.path / "log").read_text())
        process.send_signal(signal.SIGKILL)
    gate_of(nonoka).touch()
    assert nonoka("sessions", "resume", session_id, "--here").returncode == 0
    log = (nonoka.path / "log").read_text().split()
    assert (log.count("first"), log[-1]) == (1, "last")


def test_ctrl_c_pauses_a_plan_and_says_how_to_go_on(nonoka: Project) -> None:
    with nonoka.started("run", "--plan", "slow.yaml") as process:
        session_id = first_line(process)
        until(lambda: (nonoka.path / "log").exists() and "begun" in (nonoka.path / "log").read_text())
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"nonoka sessions resume {session_id} --here" in told
    assert nonoka.show(session_id)["status"] == "paused"


def test_a_plan_is_enqueued_for_the_workers(nonoka: Project) -> None:
    (nonoka.path / "needed.txt").write_text("here")
    with nonoka.started("worker", "--processes", "2", "--threads", "2"):
        done = nonoka("enqueue", "--plan", "plan.yaml", "--key", "one", "--wait")
        again = nonoka("enqueue", "--plan", "plan.yaml", "--key", "one")
    assert done.returncode == 0, done.stderr
    session_id, answer = done.stdout.split("\n", 1)
    assert json.loads(answer)["said"] == "hello\n"
    assert again.stdout.strip() == session_id


def test_a_terminal_shows_the_layers_of_a_plan(nonoka: Project) -> None:
    (nonoka.path / "needed.txt").write_text("here")
    status, shown = on_terminal(nonoka, ["run", "--plan", "plan.yaml"], environ={"NO_COLOR": "1"})
    assert status == 0
    last = shown.replace("\x1b[2K", "").replace("\r", "").split("demo  5 of 5 steps")[-1].split("\n")
    assert [line[:9] for line in last[1:6]] == [" ┬─ ✓ say", " └─ ✓ eac", " ── ✓ nee", " ── ✓ end", " ── ✓ tid"]


def gate_of(nonoka: Project) -> Path:
    """The file that the slow plan waits for."""
    return nonoka.path.with_name(f"{nonoka.path.name}-gate")


def first_of(told: str) -> str:
    """The id, which is told first."""
    return told.splitlines()[0].strip()


def test_what_leads_on_from_a_cancelled_plan_is_no_prompt(nonoka: Project) -> None:
    """A plan takes none."""
    session_id = nonoka("enqueue", "--plan", "plan.yaml", "--input", "word=you").stdout.strip()
    cancelled = nonoka("sessions", "cancel", session_id).stdout
    assert cancelled == f"cancelled {session_id}; next: nonoka sessions show {session_id}\n"
    assert "run --session" not in nonoka("sessions", "resume", session_id).stderr
