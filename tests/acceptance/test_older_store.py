"""The program in a project that nonoka 1.3.8 worked in."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.legacy_store import COMPLETED, FAILED, KILLED, PLAN, TWO_PROMPTS, write_legacy_store
from tests.support.openai_server import OpenAIServer, text
from tests.support.program import NONOKA, PATIENCE_S
from tests.support.valid_requests import check_valid


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_legacy_store(tmp_path / ".nonoka" / "sessions.db")
    return tmp_path


def nonoka(project: Path, *typed: str, server: str = "http://127.0.0.1:9") -> str:
    """What it printed; it must have succeeded."""
    done = subprocess.run(
        [NONOKA, *typed],
        cwd=project,
        env={"PATH": os.environ["PATH"], "OPENAI_BASE_URL": server, "OPENAI_API_KEY": "k"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_sessions_are_listed_and_shown(project: Path) -> None:
    """With what was said, and what was found about it."""
    listed = json.loads(nonoka(project, "sessions", "list", "--json"))
    assert {one["session_id"] for one in listed} == {COMPLETED, KILLED, TWO_PROMPTS, FAILED, PLAN}
    shown: dict[str, Any] = json.loads(nonoka(project, "sessions", "show", COMPLETED, "--json"))
    assert shown["result"] == "There are 3 files in docs and 4 in tests."
    assert shown["usage"]["input_tokens"] == 80
    assert "assistant: There are 3 files in docs" in nonoka(project, "sessions", "show", COMPLETED)
    page = nonoka(project, "sessions", "show", KILLED)
    assert "= interrupted, outcome unknown" in page
    assert "it ran in nonoka 1.3.8, whose process is gone" in page


def test_they_go_on_with_requests_that_a_strict_server_takes(project: Path) -> None:
    """The one whose process was killed in its call is told that nobody knows what came of it."""
    with OpenAIServer([text("So it goes."), text("Once more.")]) as server:
        nonoka(project, "sessions", "resume", KILLED, "--here", server=server.url)
        nonoka(project, "run", "--session", COMPLETED, "And now?", server=server.url)
        for request in server.requests:
            check_valid(request)
        told = [m["content"] for m in server.requests[0].messages if m["role"] == "tool"]
        assert told == ["interrupted, outcome unknown"] * 2
        assert server.requests[1].messages[-1]["content"] == "And now?"
    assert json.loads(nonoka(project, "sessions", "show", KILLED, "--json"))["result"] == "So it goes."


def test_a_store_that_was_adopted_breaks_no_rule(project: Path) -> None:
    nonoka(project, "sessions", "list")
    found = json.loads(nonoka(project, "doctor", "--check-store", "--json", "--model", "openai:m"))
    assert {one["state"] for one in found["checks"] if one["check"] == "rule"} == {"ok"}
