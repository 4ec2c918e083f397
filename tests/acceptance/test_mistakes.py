"""What somebody does wrong on the first day: each is one clear line and the right exit status."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.program import NONOKA, PATIENCE_S, Project, until

ANSWER = "- {text: All is well.}\n"
FILES = {
    "syntax.py": "def f(:\n",
    "raises.py": "raise ValueError('boom\\nand more')\n",
    "imports.py": "import nothing_of_this_name\n",
    "leaves.py": "import sys\nsys.exit(3)\n",
    "good.py": "from nonoka import Agent\nclerk = Agent('clerk')\nother = 3\n",
    "text.db": "this is no database, by any means\n" * 100,
}
#: of <linux/prctl.h> and <linux/capability.h>
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class Mistake:
    """What is typed, and what must be answered."""

    typed: list[str]
    status: int
    said: str
    environ: dict[str, str] = field(default_factory=dict)
    stdin: bytes = b""


def wrong(typed: str, status: int, said: str, *more: str, stdin: bytes = b"", **environ: str) -> Mistake:
    return Mistake([*typed.split(), *more], status, said, environ, stdin)


NO_MODEL = {"NONOKA_MODEL": ""}
OF_MODELS = [
    wrong("run hello", 2, "no model: pass --model, or set NONOKA_MODEL", **NO_MODEL),
    wrong("enqueue hello", 2, "no model: pass --model, or set NONOKA_MODEL", **NO_MODEL),
    wrong("run hello --model gpt-4o-mini", 2, "did you mean 'openai:gpt-4o-mini'?"),
    wrong("run hello --model opnai:gpt-4o", 2, "did you mean 'openai:gpt-4o'?"),
    wrong("run hello --model openai:", 2, "no model 'openai:'"),
    wrong("run hello --model openai:gpt-4o", 2, "set OPENAI_API_KEY"),
    wrong("run hello --model script:none.yaml", 2, "none.yaml' can't be read: No such file"),
    wrong("run hello --model script:.", 2, "can't be read: Is a directory"),
    wrong("run hello --model script:syntax.py", 2, "syntax.py"),
]
OF_AGENTS = [
    wrong("run hello --agent syntax.py:clerk", 2, "SyntaxError: invalid syntax"),
    wrong("run hello --agent raises.py:clerk", 2, "ValueError: boom and more ("),
    wrong("run hello --agent imports.py:clerk", 2, "No module named 'nothing_of_this_name'"),
    wrong("run hello --agent leaves.py:clerk", 2, "SystemExit: 3"),
    wrong("run hello --agent good.py:clark", 2, "has no 'clark'; its agents: 'clerk'"),
    wrong("run hello --agent good.py:other", 2, "is not an Agent"),
    wrong("run hello --agent good.py", 2, "name it MODULE:NAME, FILE.py:NAME"),
    wrong("enqueue hello --agent none.py:clerk", 2, "none.py' can't be read: No such file"),
    wrong("enqueue hello --agent nowhere:clerk", 2, "there is no module 'nowhere'"),
]
OF_WORDS = [
    wrong("run", 2, "the prompt is empty", ""),
    wrong("run", 2, "the prompt is empty", " \n "),
    wrong("run -", 2, "the prompt is empty", stdin=b" \n"),
    wrong("enqueue", 2, "one of PROMPT and --file"),
    wrong("enqueue hello --file -", 2, "one of PROMPT and --file"),
    wrong("enqueue --file -", 2, "stdin holds no prompt", stdin=b"\n \n"),
    wrong("enqueue --file none.txt", 2, "'none.txt' can't be read: No such file"),
    wrong("enqueue --file .", 2, "'.' can't be read: Is a directory"),
    wrong("enqueue --file - --key k", 2, "--key names one session", stdin=b"a\n"),
    wrong("enqueue hello --key", 2, "the key is empty", " "),
    wrong("run hello there", 2, "unexpected extra argument (there)"),
    wrong("run hello --modle x", 2, "Did you mean '--model'?"),
    wrong("run hello --json --quiet --cwd nowhere --model gpt --agent syntax.py:x", 2, "'nowhere' does not exist"),
    wrong("sesions list", 2, "No such command 'sesions'. Did you mean 'sessions'?"),
    wrong("sessions lst", 2, "No such command 'lst'. Did you mean 'list'?"),
    wrong("completion tcsh", 2, "'tcsh' is not one of"),
    wrong("run hello --max-model-turns many", 2, "'many' is not a valid integer"),
    wrong("run hello", 2, "NONOKA_MAX_WALL_S (environment)", NONOKA_MAX_WALL_S="-1"),
    wrong("sessions show abc", 2, "no session 'abc' in this store"),
    wrong("sessions delete abc --yes", 2, "no session 'abc' in this store"),
]
OF_PLACES = [
    wrong("run hello --cwd nowhere", 2, "'nowhere' does not exist"),
    wrong("run hello --cwd good.py", 2, "'good.py' is a file"),
    wrong("run hello", 1, "is a directory; name a file with --db", NONOKA_DB="."),
    wrong("sessions list", 1, "is a directory; name a file with --db", NONOKA_DB="."),
    wrong("sessions list", 1, "file is not a database", NONOKA_DB="text.db"),
    wrong("run hello", 1, "Not a directory", NONOKA_DB="good.py/sessions.db"),
    wrong("sessions list", 1, "is no regular file", NONOKA_DB="/dev/null"),
]


@pytest.fixture
def nonoka(tmp_path: Path) -> Project:
    made = Project(tmp_path, ANSWER)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return made


def without_root_s_privileges() -> None:
    """What runs in this process next heeds the permissions of files, whoever its user is."""
    if os.getuid() == 0:
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "prctl")


def told(nonoka: Project, mistakes: list[Mistake], *, as_anyone: bool = False) -> Iterator[str]:
    """What is not as it must be, for each that isn't."""

    def make(mistake: Mistake) -> tuple[Mistake, subprocess.CompletedProcess[bytes]]:
        return mistake, subprocess.run(
            [NONOKA, *mistake.typed],
            cwd=nonoka.path,
            env=nonoka.environ | mistake.environ,
            input=mistake.stdin,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
            preexec_fn=without_root_s_privileges if as_anyone else None,
        )

    # What runs between fork and exec is safe only while no other thread does anything.
    with ThreadPoolExecutor(1 if as_anyone else 4) as pool:
        for mistake, done in pool.map(make, mistakes):
            err = done.stderr.decode()
            one_line = err.startswith("nonoka: error: ") and err.count("\n") == 1 and not done.stdout
            if not (one_line and mistake.said in err and done.returncode == mistake.status):
                yield f"{mistake}: {done.returncode} {err!r} {done.stdout!r}"


@pytest.mark.parametrize(
    "mistakes", [OF_MODELS, OF_AGENTS, OF_WORDS, OF_PLACES], ids=["models", "agents", "words", "places"]
)
def test_a_mistake_is_one_clear_line_and_stores_nothing(nonoka: Project, mistakes: list[Mistake]) -> None:
    assert list(told(nonoka, mistakes)) == []
    if mistakes is not OF_PLACES:
        assert nonoka.json("sessions", "list") == []


def test_a_prefix_of_several_sessions_names_some_of_them(nonoka: Project) -> None:
    (nonoka.path / "prompts").write_text("hello\n" * 17, encoding="utf-8")
    ids = nonoka("enqueue", "--file", "prompts").stdout.split()
    first = sorted(ids, key=lambda id_: sum(other[0] == id_[0] for other in ids))[-1]
    ambiguous = [
        wrong(f"sessions {command}", 2, f"several sessions begin with {first[0]!r}: ", first[0])
        for command in ("show", "watch", "cancel", "resume")
    ]
    assert list(told(nonoka, ambiguous)) == []


def test_a_store_that_this_user_may_not_open_is_told_by_name(nonoka: Project) -> None:
    assert nonoka("enqueue", "hello").returncode == 0
    hidden = nonoka.path / ".nonoka"
    commands = ["sessions list", "sessions show abc", "sessions delete abc --yes", "sweep", "run hello"]
    try:
        hidden.chmod(0o000)
        refused = [wrong(command, 1, "sessions.db can't be opened: Permission denied") for command in commands]
        assert list(told(nonoka, refused, as_anyone=True)) == []
        hidden.chmod(0o700)
        wal = hidden / "sessions.db-wal"  # as somebody else leaves it who may open the store
        wal.touch(0o000)
        refused = [wrong(command, 1, "its sessions.db-wal belongs to user") for command in commands]
        assert list(told(nonoka, refused, as_anyone=True)) == []
        wal.unlink()
        hidden.chmod(0o500)
        (hidden / "sessions.db").chmod(0o600)
        refused = [wrong(command, 1, "its directory can't be written by this user") for command in commands]
        assert list(told(nonoka, refused, as_anyone=True)) == []
    finally:
        hidden.chmod(0o700)


def test_a_project_that_this_user_may_not_write_to_is_told_before_anything_is_stored(nonoka: Project) -> None:
    try:
        nonoka.path.chmod(0o500)
        refused = [
            wrong("run hello", 1, "sessions.db can't be opened: Permission denied"),
            wrong("init", 2, "nonoka.toml can't be written here: Permission denied"),
        ]
        assert list(told(nonoka, refused, as_anyone=True)) == []
    finally:
        nonoka.path.chmod(0o700)


def test_a_store_that_is_taken_away_under_a_run_is_written_back(nonoka: Project) -> None:
    """``git clean -xfd`` while it works: the next commit is refused, and nothing of it is lost."""
    nonoka.script.write_text(
        "- tool_calls: [{name: run_command, args: {command: 'touch log; until [ -e go ]; do sleep 0.05; done'}}]\n"
        "- {text: All is well.}\n"
    )
    with nonoka.started("run", "hello") as process:
        until(nonoka.begun)
        shutil.rmtree(nonoka.path / ".nonoka")
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, err
    assert "sessions.db was removed while it was in use; what it held is written to" in err
    (nonoka.path / "go").touch()
    [session] = nonoka.json("sessions", "list")
    assert nonoka.show(session["session_id"])["messages"][0]["content"] == "hello"


def test_what_no_terminal_can_be_asked_is_refused(nonoka: Project) -> None:
    session_id = nonoka("enqueue", "hello").stdout.strip()
    refused = nonoka("sessions", "delete", session_id, stdin=subprocess.DEVNULL)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "pass --yes" in refused.stderr
    assert nonoka.show(session_id)["status"] == "created"


def test_whatever_bytes_come_in_are_a_prompt(nonoka: Project) -> None:
    """NUL, a lone surrogate, bytes that are no UTF-8, 5 MB: stored as text that every model takes."""
    for said in (b"a\0b", b"a \xed\xa0\x80 b", b"a \xff\xfe b", b"x" * 5_000_000):
        done = subprocess.run(
            [NONOKA, "run", "-q", "-"],
            cwd=nonoka.path,
            env=nonoka.environ,
            input=said,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, b"All is well.\n"), done.stderr
        content = nonoka.show(done.stderr.decode().strip())["messages"][0]["content"]
        assert "\0" not in content
        assert len(content) >= min(len(said), 3)
        content.encode()


def test_a_process_without_standard_streams_works_all_the_same(nonoka: Project) -> None:
    """And writes nothing of what was meant for them anywhere else, such as into the store."""
    done = subprocess.run(
        ["sh", "-c", f'"{NONOKA}" run -q hello <&- >&- 2>&-; echo $?; "{NONOKA}" run - <&-; echo $?'],
        cwd=nonoka.path,
        env=nonoka.environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stdout == "0\n2\n"
    assert "the prompt is empty" in done.stderr
    (line,) = nonoka.json("sessions", "list")
    assert nonoka.show(line["session_id"])["result"] == "All is well."


def test_a_terminal_of_another_encoding_gets_escapes_and_no_error(nonoka: Project) -> None:
    nonoka.script.write_text("- {text: Grüße}\n", encoding="utf-8")
    nonoka.environ["PYTHONIOENCODING"] = "ascii"
    done = nonoka("run", "-q", "hello")
    assert (done.returncode, done.stdout) == (0, "Gr\\xfc\\xdfe\n")


def test_a_full_disk_under_stdout_is_one_line(nonoka: Project) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [NONOKA, "sessions", "list"],
            cwd=nonoka.path,
            env=nonoka.environ,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("nonoka: error: No space left on device")
    assert done.stderr.count("\n") == 1
