"""What comes after the first session: deleting, keys, files of prompts, doctor, init, completion, a terminal."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import PATIENCE_S, Project, first_line, on_terminal, until

ANSWER = "- {text: All is well.}\n"
SLOW = """\
- {tool_calls: [{name: run_command, args: {command: "echo begun >> log; while [ ! -e go ]; do sleep 0.05; done"}}]}
- {text: Finished.}
"""
KEEPS = """\
- {tool_calls: [{name: run_command, args: {command: "head -c 100000 /dev/zero | tr '\\\\0' x"}}]}
- {text: Done.}
"""

Make = Callable[[str], Project]


@pytest.fixture
def project(tmp_path: Path) -> Make:
    return lambda script: Project(tmp_path, script)


# --- delete


def test_a_deleted_session_is_gone_with_its_kept_results(project: Make) -> None:
    nonoka = project(KEEPS)
    session_id = nonoka("run", "-q", "Be loud").stderr.strip()
    other = nonoka("run", "-q", "Be loud again").stderr.strip()
    artifacts = nonoka.path / ".nonoka" / "artifacts"
    assert {path.name for path in artifacts.iterdir()} == {session_id, other}

    done = nonoka("sessions", "delete", "--yes", session_id[:8])

    assert (done.returncode, done.stdout, done.stderr) == (0, f"deleted {session_id}\n", "")
    assert [path.name for path in artifacts.iterdir()] == [other]
    assert [line["session_id"] for line in nonoka.json("sessions", "list")] == [other]
    assert nonoka("sessions", "show", session_id).returncode == 2


def test_one_unknown_id_among_several_deletes_none(project: Make) -> None:
    nonoka = project(ANSWER)
    session_id = nonoka("enqueue", "Hello").stdout.strip()
    assert nonoka("sessions", "delete", "--yes", session_id, "zzz").returncode == 2
    assert nonoka.show(session_id)["status"] == "created"


def test_a_session_that_is_worked_on_is_deleted_only_after_a_cancel(project: Make) -> None:
    nonoka = project(SLOW)
    with nonoka.started("run", "Work") as run:
        session_id = first_line(run)
        until(nonoka.begun)
        refused = nonoka("sessions", "delete", "--yes", session_id)
        assert refused.returncode == 2
        assert f"nonoka sessions cancel {session_id}" in refused.stderr
        assert nonoka.show(session_id)["status"] == "running"
        assert nonoka("sessions", "cancel", session_id).returncode == 0
        run.communicate(timeout=PATIENCE_S)
    assert nonoka("sessions", "delete", "--yes", session_id).returncode == 0


def test_a_session_whose_worker_was_killed_can_be_deleted(project: Make) -> None:
    """What it had started is ended first."""
    nonoka = project(SLOW)
    with nonoka.started("run", "Work") as run:
        session_id = first_line(run)
        until(nonoka.begun)
        run.kill()
        run.wait()
    done = nonoka("sessions", "delete", "--yes", session_id)
    assert done.returncode == 0, done.stderr
    assert nonoka.json("sessions", "list") == []


def test_a_person_on_a_terminal_is_asked(project: Make) -> None:
    nonoka = project(ANSWER)
    session_id = nonoka("enqueue", "Hello there").stdout.strip()
    status, shown = on_terminal(nonoka, ["sessions", "delete", session_id], typed="n\n")
    assert status == 1
    assert f"{session_id}  Hello there" in shown
    assert "Delete 1 session for good? [y/N]" in shown
    assert nonoka.show(session_id)["status"] == "created"
    status, shown = on_terminal(nonoka, ["sessions", "delete", session_id], typed="y\n")
    assert status == 0, shown
    assert nonoka.json("sessions", "list") == []


# --- enqueue


def test_a_key_names_one_session_however_many_ask_at_once(project: Make) -> None:
    nonoka = project(ANSWER)
    with ThreadPoolExecutor(6) as pool:
        asked = list(pool.map(lambda n: nonoka("enqueue", "--key", "daily", f"Prompt {n}"), range(6)))
    assert {done.returncode for done in asked} == {0}
    assert len({done.stdout for done in asked}) == 1
    (line,) = nonoka.json("sessions", "list")
    assert asked[0].stdout == f"{line['session_id']}\n"
    assert nonoka("enqueue", "--key", "weekly", "Prompt").stdout != asked[0].stdout


def test_each_line_of_a_file_is_a_session(project: Make) -> None:
    nonoka = project(ANSWER)
    done = nonoka("enqueue", "--file", "-", input="First\n\n  Second  \r\n\t\nThird")
    assert done.returncode == 0, done.stderr
    said = [nonoka.show(session_id)["messages"][0]["content"] for session_id in done.stdout.split()]
    assert said == ["First", "Second", "Third"]


def test_a_file_is_checked_before_anything_of_it_is_stored(project: Make) -> None:
    nonoka = project(ANSWER)
    (nonoka.path / "prompts").write_text("First\nSecond\n", encoding="utf-8")
    assert nonoka("enqueue", "--file", "prompts", "--agent", "none.py:a").returncode == 2
    assert nonoka.json("sessions", "list") == []


def test_whoever_waits_for_several_gets_each_answer_under_its_id(project: Make) -> None:
    """And the gravest status of them."""
    nonoka = project(ANSWER)
    with nonoka.started("worker") as worker:
        done = nonoka("enqueue", "--file", "-", "--wait", input="One\nTwo\n")
        first, second, *answers = done.stdout.splitlines()
        assert answers == [f"{first} completed", "All is well.", f"{second} completed", "All is well."]
        assert done.returncode == 0, done.stderr
        nonoka.script.write_text("- {text: x, error: {status: 401}}\n", encoding="utf-8")
        failed = nonoka("enqueue", "--file", "-", "--wait", input="One\nTwo\n")
        assert failed.returncode == 1
        assert failed.stderr.count("the session failed: unauthorized") == 2
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=PATIENCE_S)


# --- doctor


def checks(nonoka: Project, *args: str) -> tuple[int, dict[str, dict[str, Any]]]:
    done = nonoka("doctor", "--json", *args)
    found = json.loads(done.stdout)
    assert found["well"] == (done.returncode == 0)
    return done.returncode, {check["check"]: check for check in found["checks"]}


def test_a_sound_set_up_is_well_and_no_store_is_made(project: Make) -> None:
    nonoka = project(ANSWER)
    status, found = checks(nonoka)
    assert (status, {check["state"] for check in found.values()}) == (0, {"ok"})
    assert list(found) == ["python", "sqlite", "git", "broker", "store", "agent", "model"]
    assert found["store"]["found"].startswith("none yet")
    assert [path.name for path in nonoka.path.iterdir()] == ["script.yaml"]
    page = nonoka("doctor", "--ask").stdout
    assert "answered: 'All is well.'" in page


@pytest.mark.parametrize(
    ("environ", "check", "remedy"),
    [
        ({"NONOKA_MODEL": ""}, "model", "set NONOKA_MODEL"),
        ({"NONOKA_MODEL": "openai:gpt-4o"}, "model", "docs/models.md"),
        ({"NONOKA_AGENT": "none.py:a"}, "agent", "--agent"),
        ({"NONOKA_REDIS_URL": "no://localhost"}, "broker", "unset it"),
        ({"NONOKA_DB": "."}, "store", "--db"),
        ({"PATH": ""}, "git", "install git"),
    ],
)
def test_what_is_wrong_comes_with_its_remedy(
    project: Make, environ: dict[str, str], check: str, remedy: str
) -> None:
    nonoka = project(ANSWER)
    nonoka.environ |= environ
    status, found = checks(nonoka)
    assert status == 1
    assert {name for name, one in found.items() if one["state"] == "wrong"} == {check}
    assert remedy in found[check]["remedy"]


def test_doctor_says_who_waits_for_whom(project: Make) -> None:
    nonoka = project("- {text: x, error: {status: 503, retry_after_s: 600, times: 9}}\n")
    retried = nonoka("enqueue", "Retried").stdout.strip()
    with nonoka.started("worker") as worker:
        until(lambda: any(e["type"] == "turn_retried" for e in nonoka.show(retried)["events"]))
        living = checks(nonoka)[1]
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=PATIENCE_S)
    assert "(worker, " in living["workers"]["found"]
    paused = nonoka("enqueue", "Paused").stdout.strip()
    nonoka("sessions", "pause", paused)
    nonoka("enqueue", "Due")

    status, found = checks(nonoka)

    assert (status, found["sessions"]["found"]) == (1, "1 created, 1 running, 1 paused")
    assert found["workers"]["found"] == "none is running"
    assert (found["waiting"]["state"], found["waiting"]["remedy"]) == ("wrong", "nonoka worker")
    assert found["retry"]["found"].startswith(f"{retried} waits ")
    assert "for another try: server error: " in found["retry"]["found"]
    assert found["paused"]["remedy"] == f"nonoka sessions resume {paused}"


def test_doctor_finds_what_a_killed_worker_holds(project: Make) -> None:
    nonoka = project(SLOW)
    with nonoka.started("run", "Work") as run:
        first_line(run)
        until(nonoka.begun)
        run.kill()
        run.wait()
    status, found = checks(nonoka)
    assert (status, found["worker"]["state"]) == (1, "wrong")
    assert "died" in found["worker"]["found"]
    assert "holds 1 turn" in found["worker"]["found"]
    assert "nonoka sweep" in found["worker"]["remedy"]
    assert nonoka("sweep").returncode == 0
    assert "worker" not in checks(nonoka)[1]


# --- init


def test_doctor_tests_the_rules_of_the_store_and_repairs_what_it_is_told_to(project: Make) -> None:
    """It says which is broken and by what; only --repair changes anything, and a second look finds it well."""
    nonoka = project(ANSWER)
    session_id = nonoka("enqueue", "hello").stdout.strip()
    with closing(sqlite3.connect(nonoka.path / ".nonoka" / "sessions.db")) as db, db:
        db.execute("DELETE FROM tasks")
    for _ in range(2):
        done = nonoka("doctor", "--check-store")
        assert done.returncode == 1
        assert f"a session that goes on has a task: not so of {session_id}: created" in done.stdout
        assert "nonoka doctor --check-store --repair" in done.stdout
    assert "repaired: each has a task again" in nonoka("doctor", "--check-store", "--repair").stdout
    assert "not so of" not in nonoka("doctor", "--check-store").stdout
    assert nonoka("doctor", "--repair").returncode == 2


def test_what_init_writes_works_and_is_never_overwritten_unasked(project: Make) -> None:
    nonoka = project(
        "- {tool_calls: [{name: book, args: {purpose: train tickets, cents: 2550}}]}\n- {text: Booked.}\n"
    )
    written = nonoka("init")
    assert (written.returncode, written.stderr) == (0, "")
    assert "nonoka run --agent agents.py:clerk" in written.stdout
    done = nonoka("run", "--agent", "agents.py:clerk", "Book it")
    assert done.returncode == 0, done.stderr
    assert "booked 25.50 euros for train tickets" in done.stdout
    (entry,) = (nonoka.path / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(entry)["cents"] == 2550

    (nonoka.path / "agents.py").write_text("mine", encoding="utf-8")
    (nonoka.path / "nonoka.toml").unlink()
    refused = nonoka("init")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "agents.py exists here already" in refused.stderr
    assert not (nonoka.path / "nonoka.toml").exists()
    assert (nonoka.path / "agents.py").read_text(encoding="utf-8") == "mine"
    assert nonoka("init", "--force").returncode == 0
    assert "clerk" in (nonoka.path / "agents.py").read_text(encoding="utf-8")


def test_every_setting_that_init_shows_can_be_switched_on(project: Make) -> None:
    """Each commented line is a valid setting; none is missing but the one that isn't supported yet."""
    from nonoka.records.runtime import RuntimeLimits
    from nonoka.settings import Settings, load_settings

    nonoka = project(ANSWER)
    nonoka("init")
    file = nonoka.path / "nonoka.toml"
    lines = file.read_text(encoding="utf-8").splitlines()
    shown = [line.removeprefix("# ") for line in lines if line.startswith("# ") and " = " in line]
    file.write_text("\n".join(shown), encoding="utf-8")
    settings = load_settings(nonoka.path, {})
    assert settings.agent == f"{nonoka.path}/agents.py:clerk"
    names = {line.split(" = ")[0] for line in shown}
    assert names >= {*Settings.model_fields} - {"cwd", "limits", "redis_url"}
    assert names - {*Settings.model_fields} <= {*RuntimeLimits.model_fields}


# --- completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_given_its_script(project: Make, shell: str) -> None:
    done = project(ANSWER)("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert "_NONOKA_COMPLETE" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True, timeout=PATIENCE_S)


def test_commands_and_session_ids_are_completed(project: Make) -> None:
    nonoka = project(ANSWER)

    def completed(words: str) -> list[str]:
        nonoka.environ |= {"_NONOKA_COMPLETE": "bash_complete", "COMP_WORDS": words}
        nonoka.environ["COMP_CWORD"] = str(len(words.split(" ")) - 1)
        done = nonoka()
        assert (done.returncode, done.stderr) == (0, "")
        del nonoka.environ["_NONOKA_COMPLETE"]
        return [line.partition(",")[2] for line in done.stdout.split()]

    assert completed("nonoka ses") == ["sessions"]
    assert completed("nonoka sessions show ") == []
    assert not (nonoka.path / ".nonoka").exists()
    session_id = nonoka("enqueue", "Hello").stdout.strip()
    for words in ("sessions show", "sessions delete", "run --session", "sessions resume"):
        assert completed(f"nonoka {words} {session_id[:3]}") == [session_id]
    assert completed("nonoka sessions show zz") == []


# --- a terminal


def test_a_person_who_waits_is_told_for_what(project: Make) -> None:
    """The line is taken back before anything else is shown."""
    nonoka = project("- {text: Here it is., delay_s: 3.5}\n")
    status, shown = on_terminal(nonoka, ["run", "Think"])
    assert status == 0
    assert "the model has been thinking for " in shown
    before, _, after = shown.partition("Here it is.")
    assert before.endswith("\r\x1b[K")
    assert "thinking" not in after


def test_a_person_is_told_that_another_worker_has_the_session(project: Make) -> None:
    nonoka = project(SLOW)
    with nonoka.started("run", "Work") as run:
        session_id = first_line(run)
        until(nonoka.begun)
        go = {"another worker has this session": (nonoka.path / "go").touch}
        status, shown = on_terminal(nonoka, ["sessions", "resume", session_id, "--here"], when=go)
        run.communicate(timeout=PATIENCE_S)
    assert status == 0
    assert "another worker has this session" in shown
    assert 'run_command(command="echo begun' in shown
