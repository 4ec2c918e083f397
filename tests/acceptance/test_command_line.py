"""The real ``nonoka`` program, as a person or a script starts it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.program import PATIENCE_S, Project, first_line, on_terminal, until

ANSWER = "- {text: All is well.}\n"
TOOLS = """\
- {text: I look., tool_calls: [{name: list_files, args: {}}, {name: read_file, args: {path: none.txt}}]}
- {text: There is a script.}
"""
SLOW = """\
- {tool_calls: [{name: run_command, args: {command: "echo begun >> log; while [ ! -e go ]; do sleep 0.05; done"}}]}
- {text: Finished.}
"""
THINKS = "- {text: I have thought., delay_s: 300}\n"
REFUSED = "- {text: x, error: {status: 401}}\n"
BUSY_ONCE = "- {text: In the end., error: {status: 503, times: 1}}\n"


@pytest.fixture
def project(tmp_path: Path) -> Callable[[str], Project]:
    return lambda script: Project(tmp_path, script)


Make = Callable[[str], Project]


# --- run


def test_run_tells_id_timeline_and_summary(project: Make) -> None:
    nonoka = project(TOOLS)
    done = nonoka("run", "What is here?")
    session_id = done.stderr.strip()
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "I look." in lines
    assert any(line.startswith("list_files() ok ") and "script.yaml" in line for line in lines)
    assert any(line.startswith('read_file(path="none.txt") failed ') for line in lines)
    assert lines[-2] == "There is a script."
    assert lines[-1].startswith("completed · 2 turns · ~")
    assert lines[-1].endswith(session_id)
    assert "\x1b" not in done.stdout


def test_run_json_is_one_event_a_line_and_then_the_contract(project: Make) -> None:
    nonoka = project(TOOLS)
    done = nonoka("run", "--json", "What is here?")
    *events, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("session_created", "session_completed")
    assert last == nonoka.show(done.stderr.strip())
    assert (last["status"], last["result"], last["events"]) == ("completed", "There is a script.", events)
    assert [message["role"] for message in last["messages"]] == ["user", "assistant", "tool", "tool", "assistant"]
    assert {step["status"] for step in last["steps"]} == {"completed", "failed"}


def test_run_quiet_prints_the_answer_alone_and_reads_stdin(project: Make) -> None:
    nonoka = project(ANSWER)
    done = nonoka("run", "--quiet", "-", input="What\nis here?\n")
    assert (done.returncode, done.stdout) == (0, "All is well.\n")
    assert nonoka.show(done.stderr.strip())["messages"][0]["content"] == "What\nis here?\n"


def test_a_failed_run_says_why_and_is_1(project: Make) -> None:
    done = project(REFUSED)("run", "-q", "Hello")
    assert (done.returncode, done.stdout) == (1, "")
    session_id, why, what_next = done.stderr.splitlines()
    assert why.startswith("nonoka: error: the session failed: unauthorized: ")
    assert f"nonoka sessions retry {session_id} --here" in what_next


def test_a_retried_request_is_told_with_its_wait(project: Make) -> None:
    done = project(BUSY_ONCE)("run", "Hello")
    assert done.returncode == 0
    assert "\nwaiting 0." in done.stdout
    assert ": server error: " in done.stdout


def test_run_gives_a_session_its_next_prompt(project: Make) -> None:
    nonoka = project("- {text: One.}\n- {text: Two.}\n")
    session_id = nonoka("run", "-q", "First").stderr.strip()
    done = nonoka("run", "--session", session_id[:8], "Second")
    assert (done.returncode, done.stderr.strip()) == (0, session_id)
    assert "Two." in done.stdout
    assert "One." not in done.stdout
    said = [message["content"] for message in nonoka.show(session_id)["messages"]]
    assert said == ["First", "One.", "Second", "Two."]


def test_ctrl_c_pauses_settled_and_a_resume_goes_on(project: Make) -> None:
    nonoka = project(SLOW)
    with nonoka.started("run", "Work") as run:
        session_id = first_line(run)
        until(nonoka.begun)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 130
    assert f"nonoka sessions resume {session_id} --here" in err
    assert "Traceback" not in err
    shown = nonoka.show(session_id)
    assert (shown["status"], [call["why"] for call in shown["pending"]]) == ("paused", ["not begun"])
    (nonoka.path / "go").touch()
    done = nonoka("sessions", "resume", session_id, "--here")
    assert done.returncode == 0, done.stderr
    assert "(attempt 2) ok " in done.stdout
    assert nonoka.show(session_id)["result"] == "Finished."


def test_ctrl_c_stops_a_model_that_thinks(project: Make) -> None:
    nonoka = project(THINKS)
    with nonoka.started("run", "Think") as run:
        session_id = first_line(run)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=PATIENCE_S)
    assert (run.returncode, nonoka.show(session_id)["status"]) == (130, "paused")


def test_sigterm_hands_back_without_pausing(project: Make) -> None:
    nonoka = project(SLOW)
    with nonoka.started("run", "Work") as run:
        session_id = first_line(run)
        until(nonoka.begun)
        run.send_signal(signal.SIGTERM)
        _, err = run.communicate(timeout=PATIENCE_S)
    shown = nonoka.show(session_id)
    assert run.returncode == 143
    assert "handed back" in err
    assert (shown["status"], shown["tasks"][-1]["status"]) == ("running", "ready")


def test_a_reader_that_leaves_ends_the_run_quietly(project: Make) -> None:
    nonoka = project(BUSY_ONCE)
    with nonoka.started("run", "Work") as run:
        assert run.stdout is not None
        run.stdout.close()
        assert run.stderr is not None
        err = run.stderr.read()
    assert run.returncode == 141
    assert "Traceback" not in err
    assert "BrokenPipe" not in err


def test_a_terminal_gets_colours_unless_no_color_is_set(project: Make) -> None:
    nonoka = project(ANSWER)
    assert "\x1b[" in on_terminal(nonoka, ["run", "Hello"])[1]
    assert "\x1b[" not in on_terminal(nonoka, ["run", "Hello"], environ={"NO_COLOR": "1"})[1]


# --- what is asked wrongly


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["run", ""], "the prompt is empty"),
        (["run", "--model", "script:none.yaml", "x"], "none.yaml"),
        (["run", "--model", "openai:m", "x"], "OPENAI_API_KEY"),
        (["run", "--model", "what:m", "x"], "no model 'what:m'"),
        (["run", "--agent", "none.py:a", "x"], "none.py"),
        (["run", "--max-model-turns", "0", "x"], "max_model_turns"),
        (["run", "--json", "--quiet", "x"], "exclude each other"),
        (["run", "--session", "abc", "x"], "no session 'abc'"),
        (["run", "--cwd", "nowhere", "x"], "nowhere"),
        (["run"], "Missing argument"),
        (["enqueue", "--agent", "nowhere:a", "x"], "no module 'nowhere'"),
        (["sessions", "show", "abc"], "no session 'abc'"),
        (["sessions", "watch", "abc"], "no session 'abc'"),
        (["sessions", "retry", "abc"], "no session 'abc'"),
        (["sessions", "cancel", "abc"], "no session 'abc'"),
        (["nothing"], "No such command"),
    ],
)
def test_a_wrong_request_is_one_line_and_2_and_stores_nothing(project: Make, args: list[str], said: str) -> None:
    nonoka = project(ANSWER)
    done = nonoka(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("nonoka: error: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert nonoka.json("sessions", "list") == []


def test_a_broken_store_is_one_line_and_1(project: Make) -> None:
    nonoka = project(ANSWER)
    (nonoka.path / "bad.db").write_bytes(b"this is no database, by any means" * 100)
    done = nonoka("sessions", "list", "--db", "bad.db")
    assert done.returncode == 1
    assert done.stderr.startswith("nonoka: error: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" in nonoka("sessions", "list", "--db", "bad.db", "--debug").stderr


# --- looking


def test_looking_makes_no_store(project: Make) -> None:
    nonoka = project(ANSWER)
    assert nonoka("sessions", "list").stdout == "no sessions yet\n"
    assert nonoka("sessions", "list", "--json").stdout == "[]\n"
    assert nonoka("sweep").stdout == "nothing to recover\n"
    assert [path.name for path in nonoka.path.iterdir()] == ["script.yaml"]


def test_a_list_is_newest_first_in_plain_columns(project: Make) -> None:
    nonoka = project(ANSWER)
    ids = [nonoka("enqueue", f"Prompt {n}").stdout.strip() for n in range(3)]
    listed = nonoka.json("sessions", "list")
    assert [line["session_id"] for line in listed] == ids[::-1]
    assert list(listed[0]) == (
        ["session_id", "status", "kind", "agent", "model", "working_dir", "created_at", "last_active", "title"]
    )
    shown = nonoka("sessions", "list", "--limit", "2").stdout
    assert "\t" not in shown
    assert "\x1b" not in shown
    head, *rows = shown.splitlines()
    assert head.split() == ["id", "status", "title", "model", "age", "directory"]
    assert [row.split()[:2] for row in rows] == [[id_[:8], "created"] for id_ in ids[:0:-1]]


def test_show_is_a_page_that_ends_with_what_to_do(project: Make) -> None:
    nonoka = project(TOOLS)
    session_id = nonoka("run", "What is here?").stderr.strip()
    page = nonoka("sessions", "show", session_id[:8]).stdout
    assert page.startswith(f"session   {session_id}\n")
    assert "user: What is here?" in page
    assert "assistant: There is a script." in page
    assert page.endswith(f'next: nonoka run --session {session_id} "..."\n')


def test_watch_after_the_end_tells_what_run_told(project: Make) -> None:
    nonoka = project(TOOLS)
    run = nonoka("run", "What is here?")
    watched = nonoka("sessions", "watch", run.stderr.strip())
    assert (watched.returncode, watched.stdout) == (0, run.stdout)


def test_watch_follows_another_process_and_ends_as_the_session_does(project: Make) -> None:
    nonoka = project(SLOW)
    with nonoka.started("run", "Work") as run:
        session_id = first_line(run)
        with nonoka.started("sessions", "watch", "--json", session_id) as watch:
            assert watch.stdout is not None
            seen = [json.loads(watch.stdout.readline())]
            until(nonoka.begun)
            assert nonoka("sessions", "cancel", session_id).returncode == 0
            out, _ = watch.communicate(timeout=PATIENCE_S)
        run.communicate(timeout=PATIENCE_S)
    seen += [json.loads(line) for line in out.splitlines()]
    assert (seen[0]["type"], seen[-1]["type"]) == ("session_created", "session_cancelled")
    assert (watch.returncode, run.returncode) == (1, 1)


# --- signals


def test_pause_and_cancel_take_effect_where_no_worker_is(project: Make) -> None:
    nonoka = project(ANSWER)
    session_id = nonoka("enqueue", "Later").stdout.strip()
    paused = nonoka("sessions", "pause", session_id)
    assert (paused.returncode, nonoka.show(session_id)["status"]) == (0, "paused")
    assert f"nonoka sessions resume {session_id} --here" in paused.stdout
    assert nonoka("sessions", "watch", session_id).returncode == 3
    assert nonoka("sessions", "retry", session_id).returncode == 2
    assert nonoka("sessions", "cancel", session_id).returncode == 0
    assert nonoka.show(session_id)["status"] == "cancelled"
    again = nonoka("sessions", "cancel", session_id)
    assert again.returncode == 0
    assert "is cancelled already" in again.stdout


def test_a_failed_session_is_retried_here_and_no_other_is(project: Make) -> None:
    nonoka = project(REFUSED)
    session_id = nonoka("run", "Hello").stderr.splitlines()[0]
    nonoka.script.write_text(ANSWER, encoding="utf-8")
    assert nonoka("sessions", "resume", session_id).returncode == 2
    assert nonoka("sessions", "retry", session_id, "--here").returncode == 0
    assert nonoka.show(session_id)["result"] == "All is well."
    refused = nonoka("sessions", "retry", session_id)
    assert refused.returncode == 2
    assert "is completed" in refused.stderr


def test_a_sent_message_starts_another_run(project: Make) -> None:
    nonoka = project("- {text: One.}\n- {text: Two.}\n")
    session_id = nonoka("run", "First").stderr.strip()
    assert nonoka("sessions", "send", session_id, "Second").returncode == 0
    assert nonoka("sessions", "resume", session_id, "--here").returncode == 0
    assert nonoka.show(session_id)["result"] == "Two."


# --- the workers' side


def test_enqueue_prints_the_id_alone_and_a_worker_answers(project: Make) -> None:
    nonoka = project(ANSWER)
    stored = nonoka("enqueue", "Hello")
    session_id = stored.stdout.strip()
    assert (stored.returncode, stored.stderr, stored.stdout) == (0, "", f"{session_id}\n")
    with nonoka.started("worker") as worker:
        assert nonoka("sessions", "watch", session_id).returncode == 0
        waited = nonoka("enqueue", "--wait", "Again")
        assert waited.stdout.splitlines()[1:] == ["All is well."]
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=PATIENCE_S)
    assert worker.returncode == 0


def test_enqueue_loads_neither_the_model_library_nor_rich(project: Make) -> None:
    nonoka = project(ANSWER)
    code = (
        "import sys; sys.argv = ['nonoka', 'enqueue', 'Hello'];"
        "from nonoka.entrypoints.cli.main import main; status = main();"
        "sys.exit(status or sorted({'pydantic_ai', 'openai', 'rich', 'dramatiq'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=nonoka.path,
        env=nonoka.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_sweep_releases_what_a_killed_run_held(project: Make) -> None:
    nonoka = project(SLOW)
    with nonoka.started("run", "Work") as run:
        session_id = first_line(run)
        until(nonoka.begun)
        run.kill()
        run.wait()
    swept = nonoka("sweep")
    assert swept.returncode == 0, swept.stderr
    assert f"released {session_id}/turn:1" in swept.stdout
    assert nonoka("sweep").stdout == "nothing to recover\n"
    (nonoka.path / "go").touch()
    done = nonoka("sessions", "resume", session_id, "--here")
    assert done.returncode == 0, done.stderr
    assert nonoka.show(session_id)["result"] == "Finished."


def test_sweeping_every_second_ends_when_told_to(project: Make) -> None:
    nonoka = project(ANSWER)
    with nonoka.started("sweep", "--every", "1") as sweep:
        assert sweep.stdout is not None
        assert sweep.stdout.readline() == "nothing to recover\n"
        sweep.send_signal(signal.SIGTERM)
        sweep.wait(PATIENCE_S)
    assert sweep.returncode == 0


def test_an_agent_is_found_in_the_current_directory(project: Make) -> None:
    nonoka = project(ANSWER)
    (nonoka.path / "mine.py").write_text("from nonoka import Agent\nmine = Agent('mine')\n", encoding="utf-8")
    session_id = nonoka("run", "--agent", "mine:mine", "Hello").stderr.strip()
    assert (nonoka.show(session_id)["agent"], nonoka.show(session_id)["status"]) == ("mine:mine", "completed")
