"""Every command of the README, run as it stands there, in a project of its own."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.openai_server import OpenAIServer, Reply, Request, calls, text

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
_LINES = [line for block in CONSOLE for line in block.splitlines()]
COMMANDS = [line[2:].split("  #")[0].strip() for line in _LINES if line.startswith("$ ")]
PYTHON = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
PLAN = re.findall(r"^```yaml\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
#: what stands for the user's bank in the README's agent
BANK = (
    "class Bank:\n"
    "    def pay(self, invoice: str, cents: int, idempotency_key: str) -> str:\n"
    "        return f'paid {cents} for {invoice} under {idempotency_key}'\n"
    "    def receipt(self, idempotency_key: str) -> str | None:\n"
    "        return None\n"
    "bank = Bank()\n"
)


def reply(request: Request) -> Reply:
    """The model pays once where it may, and answers."""
    tools = {tool["function"]["name"] for tool in request.body.get("tools", [])}
    if "pay" in tools and request.messages[-1]["role"] == "user":
        return calls(("pay", {"invoice": "7", "cents": 100}))
    return text("Done.")


class Shell:
    """Runs the README's commands one after another, as a person would; ids are those that it has printed."""

    def __init__(self, directory: Path, url: str) -> None:
        self.directory = directory
        self.last_id = ""
        self.background: list[subprocess.Popen[str]] = []
        programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.env = {"PATH": programs, "HOME": str(directory.parent), "OPENAI_BASE_URL": url}

    def run(self, command: str) -> str:
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            if name != "OPENAI_API_KEY":
                self.env[name] = value
            return ""
        words = [self.last_id[:6] if word == "0b1f" else word for word in shlex.split(command.removesuffix("&"))]
        if words[:2] == ["make", "run"]:
            given = [word.replace("/home/me", self.env["HOME"]) for word in words[1:]]
            # -o: this environment is set up already
            words = ["make", "-C", str(ROOT), "-o", ".venv/ready", f"BIN={Path(sys.executable).parent}", *given]
        if words[1:3] in (["sessions", "rollback"], ["sessions", "fork"]):
            self.wait_for_rest()
        if command.endswith("&"):
            self.background.append(subprocess.Popen(words, cwd=self.directory, env=self.env, text=True))
            return ""
        done = subprocess.run(
            words, cwd=self.directory, env=self.env, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        if words[1] == "enqueue":
            self.last_id = done.stdout.strip()
        return done.stdout

    def wait_for_rest(self) -> None:
        """Nothing is left to do for the last session: it is answered, or paused after a rollback."""
        watch = ["nonoka", "sessions", "watch", self.last_id]
        done = subprocess.run(
            watch, cwd=self.directory, env=self.env, capture_output=True, timeout=60, check=False
        )
        assert done.returncode in (0, 3), done.stderr

    def close(self) -> None:
        for process in self.background:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    project = tmp_path / "my-project"
    project.mkdir()
    (project / "agents.py").write_text(BANK + PYTHON[0])
    (project / "review.yaml").write_text(PLAN[0])
    for words in (["init", "-q"], ["add", "agents.py"], ["commit", "-q", "-m", "first"]):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *words], cwd=project, check=True)
    with OpenAIServer(reply) as server:
        shell = Shell(project, server.url)
        yield shell
        shell.close()


def test_every_command_of_the_readme_works(shell: Shell) -> None:
    """But for the demo, which has tests of its own, and cd."""
    others = [c for c in COMMANDS if c.split()[0] not in ("nonoka", "export") and "make run" not in c]
    assert others == ["make demo", "cd my-project"]
    said = {command: shell.run(command) for command in COMMANDS if command not in others}
    assert [text for command, text in said.items() if command.startswith("make run") and "Done." in text]
    assert "Done." in said['nonoka run "Find out why the tests fail, and fix it"']
    assert said["nonoka sessions list"]
    assert (shell.directory / "review.md").read_text() == "Done."
    assert shell.run(f"nonoka sessions watch {shell.last_id}").count("pay(") >= 1


def test_the_cron_line_names_a_command_that_recovers(shell: Shell) -> None:
    """One pass, with nothing to recover."""
    [line] = [line for block in CONSOLE for line in block.splitlines() if line.startswith("* * * * *")]
    shell.run('nonoka enqueue --model openai:gpt-4o-mini "x"')
    assert shell.run(line.split("&& ")[1])


def test_the_python_of_the_readme_runs(shell: Shell) -> None:
    """The agent of the first block, run by the second."""
    body = "".join(f"    {line}\n" for line in PYTHON[1].splitlines() if not line.startswith("from "))
    program = f"import asyncio\nfrom nonoka import Runner\nfrom agents import clerk\nasync def main():\n{body}"
    done = subprocess.run(
        [sys.executable, "-c", program + "asyncio.run(main())"],
        cwd=shell.directory,
        env=shell.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("completed Done.")
