"""Reaching into sessions from a second terminal: send, pause, resume, cancel, look, one or many at a time."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import PATIENCE_S, Project, first_line, on_terminal, until

ANSWER = "- {text: All is well.}\n"
TWICE = "- {text: One.}\n- {text: Two.}\n"
SLOW = """\
- {tool_calls: [{name: run_command, args: {command: "echo begun >> log; while [ ! -e go ]; do sleep 0.05; done"}}]}
- {text: Finished.}
- {text: Heard.}
"""
REFUSED = "- {text: x, error: {status: 401}}\n"
BUSY = "- {text: x, error: {status: 503, retry_after_s: 600, times: 9}}\n"

Make = Callable[[str], Project]


@pytest.fixture
def project(tmp_path: Path) -> Make:
    return lambda script: Project(tmp_path, script)


def enqueued(nonoka: Project, count: int) -> list[str]:
    return [nonoka("enqueue", f"Prompt {number}").stdout.strip() for number in range(count)]


def statuses(nonoka: Project) -> dict[str, str]:
    return {line["session_id"]: line["status"] for line in nonoka.json("sessions", "list", "--limit", "100")}


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out


def messages(shown: dict[str, Any]) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in shown["messages"]]


# --- two terminals


def test_a_message_sent_while_a_tool_runs_is_heard_after_its_result(project: Make) -> None:
    nonoka = project(SLOW)
    with nonoka.started("run", "Work") as run:
        session_id = first_line(run)
        until(nonoka.begun)
        sent = nonoka("sessions", "send", session_id, "Be careful.")
        assert sent.stdout.startswith(f"sent to {session_id}: ")
        page = nonoka("sessions", "show", session_id).stdout
        assert "in its inbox: message, " in page
        assert " ago: heard after the calls in flight\n" in page
        (nonoka.path / "go").touch()
        assert ended(run)[0] == 0
    said = messages(nonoka.show(session_id))
    assert [role for role, _ in said[:4]] == ["user", "assistant", "tool", "user"]
    assert said[3] == ("user", "Be careful.")


def test_a_pause_waits_for_the_call_in_flight_and_a_resume_goes_on(project: Make) -> None:
    nonoka = project(SLOW)
    with nonoka.started("run", "Work") as run:
        session_id = first_line(run)
        until(nonoka.begun)
        told = nonoka("sessions", "pause", session_id)
        assert (told.returncode, told.stderr) == (0, "")
        assert f"told {session_id} to pause: its worker stops it after the call in flight" in told.stdout
        assert f"sooner: nonoka sessions pause {session_id} --now" in told.stdout
        page = nonoka("sessions", "show", session_id).stdout
        assert f"heard after the call in flight; sooner: nonoka sessions pause {session_id} --now\n" in page
        (nonoka.path / "go").touch()
        assert ended(run)[0] == 3
    page = nonoka("sessions", "show", session_id).stdout
    assert "\npaused since " in page
    assert f"next: nonoka sessions resume {session_id} --here" in page

    nonoka("sessions", "send", session_id, "And now?")
    assert f"read after: nonoka sessions resume {session_id}\n" in nonoka("sessions", "show", session_id).stdout
    resumed = nonoka("sessions", "resume", session_id)
    assert resumed.stdout.startswith(f"resumed {session_id}: a worker takes it up")
    assert "none is running: nonoka worker" in nonoka("sessions", "show", session_id).stdout
    assert nonoka("sessions", "resume", session_id, "--here").returncode == 0
    assert (nonoka.path / "log").read_text(encoding="utf-8") == "begun\n"
    assert ("user", "And now?") in messages(nonoka.show(session_id))


def test_a_pause_that_cannot_wait_cuts_off_what_runs_also_when_one_is_pending(project: Make) -> None:
    """The call begins again after the resume, on the workspace as it was before it."""
    nonoka = project(SLOW)
    with nonoka.started("run", "Work") as run:
        session_id = first_line(run)
        until(nonoka.begun)
        assert "after the call in flight" in nonoka("sessions", "pause", session_id).stdout
        assert nonoka.show(session_id)["status"] == "running"
        now = nonoka("sessions", "pause", session_id, "--now")
        assert now.returncode == 0
        assert f"told {session_id} to pause: its worker stops it within 2 s" in now.stdout or (
            now.stdout.startswith(f"paused {session_id}")
        )
        assert ended(run)[0] == 3
    assert nonoka.show(session_id)["status"] == "paused"
    again = nonoka("sessions", "pause", session_id, "--now")
    assert again.returncode == 0
    assert again.stdout.startswith(f"{session_id} is paused already; next: nonoka sessions resume ")

    (nonoka.path / "go").touch()
    assert nonoka("sessions", "resume", session_id, "--here").returncode == 0
    assert (nonoka.path / "log").read_text(encoding="utf-8") == "begun\n"
    begun = [event for event in nonoka.show(session_id)["events"] if event["type"] == "call_started"]
    assert [event["attempt"] for event in begun] == [1, 2]


def test_a_cancel_ends_what_runs_and_who_watches_sees_it(project: Make) -> None:
    nonoka = project(SLOW)
    with nonoka.started("run", "Work") as run, nonoka.started("sessions", "watch", first_line(run)) as watch:
        session_id = nonoka.json("sessions", "list")[0]["session_id"]
        until(nonoka.begun)
        assert nonoka("sessions", "cancel", session_id).returncode == 0
        assert ended(run)[0] == 1
        status, watched = ended(watch)
    assert status == 1
    assert "cancelled" in watched.splitlines()[-1]
    again = nonoka("sessions", "cancel", session_id)
    assert again.returncode == 0
    assert again.stdout.startswith(f"{session_id} is cancelled already; next: nonoka run --session ")
    assert nonoka("run", "--session", session_id, "Once more").returncode == 0


def test_a_pause_takes_a_resume_back_that_no_worker_has_heard(project: Make) -> None:
    nonoka = project(ANSWER)
    [session_id] = enqueued(nonoka, 1)
    nonoka("sessions", "pause", session_id)
    nonoka("sessions", "resume", session_id)
    assert nonoka("sessions", "pause", session_id).stdout.startswith(f"paused {session_id}")
    assert nonoka.show(session_id)["status"] == "paused"
    assert [task["status"] for task in nonoka.show(session_id)["tasks"] if task["status"] == "ready"] == []


def test_show_says_why_the_last_try_failed_and_a_resume_makes_the_next_due(project: Make) -> None:
    nonoka = project(BUSY)
    [session_id] = enqueued(nonoka, 1)
    with nonoka.started("worker"):
        until(lambda: any(event["type"] == "turn_retried" for event in nonoka.show(session_id)["events"]))
        page = nonoka("sessions", "show", session_id).stdout
    assert "for another try (1 failure so far; the last: server error: " in page
    assert f"at once: nonoka sessions resume {session_id}\n" in page
    assert nonoka("sessions", "resume", session_id).returncode == 0
    assert "turn:1: waits for a worker, " in nonoka("sessions", "show", session_id).stdout


def test_show_says_that_the_worker_died_and_what_releases_its_work(project: Make) -> None:
    nonoka = project(SLOW)
    with nonoka.started("run", "Work") as run:
        session_id = first_line(run)
        until(nonoka.begun)
    page = nonoka("sessions", "show", session_id).stdout
    assert f"its worker (pid {run.pid}) died, " in page
    assert "; nonoka sweep releases it\n" in page
    assert nonoka("sessions", "cancel", session_id).stdout.startswith(f"cancelled {session_id}; ")


# --- several at a time


def test_one_bad_id_stops_none_of_the_others(project: Make) -> None:
    nonoka = project(ANSWER)
    first, second = enqueued(nonoka, 2)
    done = nonoka("sessions", "pause", first, "zzz", second)
    assert done.returncode == 1
    assert [line.split(";")[0] for line in done.stdout.splitlines()] == [f"paused {first}", f"paused {second}"]
    assert done.stderr == "nonoka: error: no session 'zzz' in this store; see: nonoka sessions list\n"
    nothing = nonoka("sessions", "pause", "zzz", "yyy")
    assert (nothing.returncode, nothing.stdout, nothing.stderr.count("\n")) == (2, "", 2)


def test_sessions_of_a_status_are_signalled_together(project: Make) -> None:
    nonoka = project(ANSWER)
    first, second = enqueued(nonoka, 2)
    nonoka("sessions", "pause", first)
    assert nonoka("sessions", "cancel", "--status", "paused").stdout.startswith(f"cancelled {first}; ")
    assert statuses(nonoka) == {first: "cancelled", second: "created"}
    none = nonoka("sessions", "cancel", "--status", "paused")
    assert (none.returncode, none.stdout) == (0, "no session to cancel; see: nonoka sessions list\n")
    refused = nonoka("sessions", "resume", "--status", "cancelled")
    assert refused.returncode == 2
    assert f"session {first} is cancelled: there is nothing to resume" in refused.stderr


def test_all_means_those_that_the_command_applies_to(project: Make) -> None:
    nonoka = project(TWICE)
    answered = nonoka("run", "Now").stderr.strip()
    first, second = enqueued(nonoka, 2)
    assert nonoka("sessions", "pause", "--all", "--yes").returncode == 0
    assert statuses(nonoka) == {answered: "completed", first: "paused", second: "paused"}
    assert nonoka("sessions", "resume", "--all", "--yes").returncode == 0
    # A message waits for a worker: that session is about to go on.
    nonoka("sessions", "send", answered, "More")
    assert nonoka("sessions", "cancel", "--all", "--yes").returncode == 0
    assert set(statuses(nonoka).values()) == {"cancelled"}


def test_all_failed_runs_are_taken_up_again(project: Make) -> None:
    nonoka = project(REFUSED)
    failed = nonoka("run", "Hello").stderr.splitlines()[0]
    [waiting] = enqueued(nonoka, 1)
    retried = nonoka("sessions", "retry", "--all", "--yes")
    assert (retried.returncode, retried.stdout.count("\n")) == (0, 1)
    assert retried.stdout.startswith(f"resumed {failed}: a worker takes it up")
    again = nonoka("sessions", "retry", failed)
    assert (again.returncode, "is being taken up again already" in again.stdout) == (0, True)
    assert nonoka("sessions", "retry", waiting).returncode == 2


def test_all_asks_on_a_terminal_and_without_one_wants_yes(project: Make) -> None:
    nonoka = project(ANSWER)
    first, second = enqueued(nonoka, 2)
    refused = nonoka("sessions", "pause", "--all", stdin=subprocess.DEVNULL)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "pass --yes" in refused.stderr
    status, shown = on_terminal(nonoka, ["sessions", "pause", "--all"], typed="n\n")
    assert (status, set(statuses(nonoka).values())) == (1, {"created"})
    assert first in shown
    assert "Pause 2 sessions?" in shown
    status, _ = on_terminal(nonoka, ["sessions", "pause", "--all"], typed="y\n")
    assert (status, statuses(nonoka)) == (0, {first: "paused", second: "paused"})


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["pause"], "Missing argument 'ID...', or --status, or --all"),
        (["pause", "abc", "--all"], "exclude each other"),
        (["cancel", "abc", "--status", "paused"], "exclude each other"),
        (["resume", "--all", "--here"], "--here works on one session"),
        (["retry", "a", "b", "--here"], "--here works on one session"),
        (["pause", "--status", "happy"], "'happy'"),
        (["list", "--since", "yesterday"], "'yesterday' is no time"),
        (["list", "--before", "zzz"], "no session 'zzz'"),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_2(project: Make, args: list[str], said: str) -> None:
    refused = project(ANSWER)("sessions", *args)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert said in refused.stderr


def test_all_of_no_store_is_nothing_and_makes_none(project: Make) -> None:
    nonoka = project(ANSWER)
    assert nonoka("sessions", "cancel", "--all", "--yes").stdout.startswith("no session to cancel")
    assert [path.name for path in nonoka.path.iterdir()] == ["script.yaml"]


# --- finding them


def test_a_list_says_how_to_see_the_next_page(project: Make) -> None:
    nonoka = project(ANSWER)
    ids = enqueued(nonoka, 5)[::-1]
    seen: list[str] = []
    more = ["list", "--search", "prompt", "--limit", "2"]
    while more:
        page = nonoka("sessions", *more)
        seen += [row.split()[0] for row in page.stdout.splitlines()[1:]]
        assert page.stderr == "" or page.stderr.startswith("more: nonoka sessions list --search prompt --limit 2 ")
        more = page.stderr.split()[3:]
    assert seen == [session_id[:8] for session_id in ids]


def test_a_list_is_narrowed_by_status_time_directory_and_text(project: Make) -> None:
    nonoka = project(ANSWER)
    (nonoka.path / "sub").mkdir()
    above, below = enqueued(nonoka, 1)[0], nonoka("enqueue", "--cwd", "sub", "Größe").stdout.strip()
    nonoka("sessions", "pause", above)

    def listed(*args: str) -> list[str]:
        return [line["session_id"] for line in nonoka.json("sessions", "list", *args)]

    assert listed("--status", "paused", "--status", "failed") == [above]
    assert listed("--in", "sub") == [below]
    assert listed("--in", "sub/..") == [below, above]
    assert listed("--search", "GRÖSSE") == [below]
    assert listed("--search", above[:6].upper()) == [above]
    assert listed("--since", "1h") == [below, above]
    assert listed("--in", "\udcff", "--search", "\udcff") == []
    assert listed("--since", "2999-01-01") == []
    assert nonoka("sessions", "list", "--status", "failed").stdout == (
        "no such session; all of them: nonoka sessions list\n"
    )
