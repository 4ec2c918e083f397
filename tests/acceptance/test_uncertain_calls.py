"""A call whose worker is killed in its middle, and whose tool leaves it to a person what became of it."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import Project, first_line, until

#: The first attempt never ends by itself. Each leaves a line in a file of its own.
AGENT = """\
import time
from pathlib import Path
from nonoka import Agent, ToolContext, tool

@tool(on_uncertain="ask")
def charge(ctx: ToolContext, cents: int) -> str:
    with Path("log").open("a") as log:
        log.write(f"{ctx.attempt} {ctx.idempotency_key}\\n")
    while ctx.attempt == 1:
        time.sleep(0.05)
    return f"charged {cents} in attempt {ctx.attempt}"

clerk = Agent("clerk", tools=[charge])
"""
SCRIPT = "- {tool_calls: [{name: charge, args: {cents: 500}}]}\n- {text: Settled.}\n"


@pytest.fixture
def nonoka(tmp_path: Path) -> Project:
    (tmp_path / "agents.py").write_text(AGENT)
    return Project(tmp_path, SCRIPT)


def cut_off(nonoka: Project) -> str:
    """A session whose process was killed while it charged, found by a sweep; its id."""
    with nonoka.started("run", "--agent", "agents.py:clerk", "Charge 5 euros") as run:
        session_id = first_line(run)
        until(nonoka.begun)
        run.send_signal(signal.SIGKILL)
    swept = nonoka("sweep")
    assert swept.returncode == 0, swept.stderr
    return session_id


def attempts(nonoka: Project) -> list[list[str]]:
    """Number and key of each attempt that ran."""
    return [line.split() for line in (nonoka.path / "log").read_text().splitlines()]


def messages(shown: dict[str, Any]) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in shown["messages"]]


def test_a_call_in_doubt_waits_for_a_person_and_a_resume_does_not_go_on(nonoka: Project) -> None:
    """Whoever looks is told which call it is, and by which command to answer."""
    session_id = cut_off(nonoka)
    shown = nonoka.show(session_id)
    assert (shown["status"], shown["error"]["type"]) == ("paused", "needs_answer")
    assert [(call["tool"], call["why"]) for call in shown["pending"]] == [
        ("charge", "in doubt: somebody has to say whether it happened")
    ]
    answer = f"nonoka sessions answer {session_id}"
    page = nonoka("sessions", "show", session_id).stdout
    assert f"call_1_0: charge(cents=500) is in doubt: somebody has to say whether it happened; {answer}" in page
    assert page.rstrip().endswith(f"next: {answer} --again, or --skip, or --result TEXT")
    watched = nonoka("sessions", "watch", session_id)
    assert watched.returncode == 3
    assert "did charge(cents=500) happen?" in watched.stdout
    for command in (["sessions", "resume", session_id, "--here"], ["run", "--session", session_id, "And now?"]):
        taken_up = nonoka(*command)
        assert taken_up.returncode == 3, taken_up.stderr
        assert f"next: {answer} --again" in taken_up.stderr
    page = nonoka("sessions", "show", session_id).stdout
    assert re.search(rf"in its inbox: message, .* ago: read after: {answer}\n", page)
    assert len(attempts(nonoka)) == 1


@pytest.mark.parametrize(
    ("answer", "result", "ran"),
    [
        (["--again"], "charged 500 in attempt 2", 2),
        (["--skip"], "interrupted: whether it took effect is not known; a person decided to go on without it", 1),
        (["--result", "charged, says the bank"], "charged, says the bank", 1),
    ],
    ids=["again", "skip", "result"],
)
def test_what_a_person_says_of_a_call_in_doubt_leads_on(
    nonoka: Project, answer: list[str], result: str, ran: int
) -> None:
    """Again is the same call under the same key; the model sees one result, and the session goes on by itself."""
    session_id = cut_off(nonoka)
    answered = nonoka("sessions", "answer", session_id[:8], *answer)
    assert answered.returncode == 0, answered.stderr
    assert f"noted for charge (call_1_0) of {session_id}" in answered.stdout
    went_on = nonoka("sessions", "resume", session_id, "--here")
    assert went_on.returncode == 0, went_on.stderr
    shown = nonoka.show(session_id)
    assert messages(shown)[1:] == [("assistant", ""), ("tool", result), ("assistant", "Settled.")]
    decided = [event["decision"] for event in shown["events"] if event["type"] == "call_decided"]
    assert decided == [answer[0].removeprefix("--")]
    key = f"{session_id}:1:0"
    assert attempts(nonoka) == [[str(number), key] for number in range(1, ran + 1)]


def test_an_answer_to_nothing_is_refused(nonoka: Project) -> None:
    """No such call, none or two of the answers, a call that nobody asks about: nothing is noted."""
    session_id = cut_off(nonoka)
    for wrong in ([], ["--again", "--skip"], ["--skip", "--call", "call_9_9"]):
        refused = nonoka("sessions", "answer", session_id, *wrong)
        assert refused.returncode == 2, refused.stderr
    assert json.loads(nonoka("sessions", "show", session_id, "--json").stdout)["status"] == "paused"
    assert nonoka("sessions", "answer", session_id, "--skip").returncode == 0
    assert nonoka("sessions", "resume", session_id, "--here").returncode == 0
    again = nonoka("sessions", "answer", session_id, "--again")
    assert (again.returncode, "asks about no call" in again.stderr) == (2, True)
