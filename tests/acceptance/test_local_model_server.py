"""``nonoka run`` against a server on localhost that speaks the OpenAI protocol."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.support.openai_server import OpenAIServer, calls, status, text


def nonoka(directory: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("nonoka")
    env = {"PATH": os.environ["PATH"], "HOME": f"{directory}-home", **environment}
    return subprocess.run(
        [program, *arguments], cwd=directory, env=env, capture_output=True, text=True, timeout=100, check=False
    )


def test_a_model_behind_a_server_reads_a_file_and_answers(tmp_path: Path) -> None:
    """A real tool call, its result in the next request, and the answer on stdout."""
    (tmp_path / "notes.txt").write_text("the word is heron\n")
    with OpenAIServer([calls(("read_file", {"path": "notes.txt"})), text("It is heron.")]) as server:
        done = nonoka(tmp_path, "run", "--model", "openai:any", "What is the word?", OPENAI_BASE_URL=server.url)
        asked = [request.messages for request in server.requests]
    assert done.returncode == 0, done.stderr
    assert "It is heron." in done.stdout
    assert len(asked) == 2
    result = asked[1][-1]
    assert result["role"] == "tool"
    assert "heron" in json.dumps(result["content"])


def test_a_model_that_the_server_does_not_have_is_told_with_what_to_set(tmp_path: Path) -> None:
    """One request, status 1, one clear line."""
    with OpenAIServer([status(404, "no such model", error_code="model_not_found")]) as server:
        done = nonoka(tmp_path, "run", "--model", "openai:wrong", "Hello", OPENAI_BASE_URL=server.url)
        assert len(server.requests) == 1
    assert done.returncode == 1
    assert "wrong" in done.stderr
    assert "NONOKA_MODEL" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_key_that_the_server_refuses_is_told_with_what_to_set(tmp_path: Path) -> None:
    """The message names the variable and not the key; it was one request, and a retry takes the run up."""
    with OpenAIServer([status(401, "bad key"), text("Back.")]) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-secret-1"}
        done = nonoka(tmp_path, "run", "--model", "openai:m", "Hello", **environment)
        assert len(server.requests) == 1
        again = nonoka(tmp_path, "sessions", "retry", done.stderr.split()[0], "--here", **environment)
        assert len(server.requests) == 2
    assert done.returncode == 1
    assert "OPENAI_API_KEY" in done.stderr
    assert "sk-secret-1" not in done.stderr + done.stdout
    assert again.returncode == 0, again.stderr
    assert "Back." in again.stdout


def test_a_conversation_that_a_hand_has_broken_goes_on_and_says_what_was_repaired(tmp_path: Path) -> None:
    """A call without result in the middle, a doubled result, an empty id: the server would refuse each of them."""
    (tmp_path / "notes.txt").write_text("heron")
    look = ("read_file", {"path": "notes.txt"})
    with OpenAIServer([calls(look, look, look), text("Heron."), text("Still heron.")]) as server:
        done = nonoka(tmp_path, "run", "--model", "openai:any", "Which word?", OPENAI_BASE_URL=server.url)
        session_id = done.stderr.split()[0]
        with closing(sqlite3.connect(tmp_path / ".nonoka" / "sessions.db")) as db, db:
            db.execute("DELETE FROM memory_entries WHERE position = 2")
            db.execute(
                "UPDATE memory_entries SET metadata = json_remove(metadata, '$.tool_call_id') WHERE position = 4"
            )
            db.execute(
                "INSERT INTO memory_entries SELECT session_id, 6, role, content, metadata, tokens, NULL"
                " FROM memory_entries WHERE position = 3"
            )
        again = nonoka(tmp_path, "run", "--session", session_id, "Are you sure?", OPENAI_BASE_URL=server.url)
        shown = nonoka(tmp_path, "sessions", "show", session_id, "--json", OPENAI_BASE_URL=server.url)
    assert again.returncode == 0, again.stderr
    assert "Still heron." in again.stdout
    assert "call 'call_1_0' had no result: the model is told that its outcome is unknown" in again.stderr
    detail = json.loads(shown.stdout)
    (repaired,) = [event for event in detail["events"] if event["type"] == "session_repaired"]
    assert len(repaired["done"]) == 3
    told = [message["tool_call_id"] for message in detail["messages"] if message["role"] == "tool"]
    assert told == ["call_1_0", "call_1_1", "call_1_2"]
    sent = [message["role"] for message in server.requests[-1].messages]
    assert sent[-6:] == ["assistant", "tool", "tool", "tool", "assistant", "user"]
