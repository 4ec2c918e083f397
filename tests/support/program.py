"""The real ``nonoka`` program in a directory of its own, as a person or a script starts it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NONOKA = str(Path(sys.executable).with_name("nonoka"))
PATIENCE_S = 60.0


class Project:
    """A directory with a script in it, and nothing of ours in the environment."""

    def __init__(self, path: Path, script: str) -> None:
        self.path = path
        self.script = path / "script.yaml"
        self.script.write_text(script, encoding="utf-8")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NONOKA_", "OPENAI_", "NO_COLOR"))}
        self.environ = kept | {"NONOKA_MODEL": f"script:{self.script}"}

    def __call__(self, *args: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """The program has ended."""
        return subprocess.run(
            [NONOKA, *args],
            cwd=self.path,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
            **options,
        )

    @contextmanager
    def started(self, *args: str) -> Iterator[subprocess.Popen[str]]:
        """The program runs inside the block."""
        pipe = subprocess.PIPE
        with subprocess.Popen(
            [NONOKA, *args], cwd=self.path, env=self.environ, stdout=pipe, stderr=pipe, text=True
        ) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    def json(self, *args: str) -> Any:
        done = self(*args, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def show(self, session_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.json("sessions", "show", session_id)
        return found

    def begun(self) -> bool:
        return (self.path / "log").exists()


def until(fact: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not fact():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline().strip()


def on_terminal(
    nonoka: Project,
    args: Sequence[str],
    *,
    environ: Mapping[str, str] | None = None,
    typed: str = "",
    when: Mapping[str, Callable[[], object]] | None = None,
) -> tuple[int, str]:
    """The program has run on a terminal of its own; returns its exit status and all that was shown there.

    ``when`` it has shown some text, what belongs to that is called, once.
    """
    to_call = dict(when or {})
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [NONOKA, *args],
        cwd=nonoka.path,
        env=nonoka.environ | {"TERM": "xterm", "COLUMNS": "100"} | dict(environ or {}),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
                for text in [text for text in to_call if text.encode() in shown]:
                    to_call.pop(text)()
        except OSError:  # how a terminal says that nobody writes to it any more
            pass
        os.close(ours)
    return process.returncode, shown.decode()
