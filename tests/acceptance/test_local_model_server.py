"""``nonoka run`` against a server on localhost that speaks the OpenAI protocol."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.openai_server import OpenAIServer, calls, status, text


def nonoka(directory: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("nonoka")
    env = {"PATH": os.environ["PATH"], "HOME": str(directory), **environment}
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
    """The message names the variable and not the key."""
    with OpenAIServer([status(401, "bad key")]) as server:
        done = nonoka(
            tmp_path,
            "run",
            "--model",
            "openai:m",
            "Hello",
            OPENAI_BASE_URL=server.url,
            OPENAI_API_KEY="sk-secret-1",
        )
    assert done.returncode == 1
    assert "OPENAI_API_KEY" in done.stderr
    assert "sk-secret-1" not in done.stderr + done.stdout
