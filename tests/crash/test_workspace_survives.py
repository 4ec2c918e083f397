"""Commands that are not safe to repeat, killed with their worker in the middle: they take effect once."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from nonoka.records.event import EventType
from tests.support.project import OURS, PLAIN, Project

#: By hand more: ``WORKSPACE_KILLS=100 pytest tests/crash/test_workspace_survives.py``.
KILLS = int(os.environ.get("WORKSPACE_KILLS", "8"))
#: Appends, moves, deletes, makes a link, changes a mode; slowly enough to be met in the middle.
SCRIPT = """
set -e
for n in 1 2 3 4 5; do echo "line $n" >> log.txt; sleep 0.01; done
mv old.txt "new name.txt"; sleep 0.01
rm gone.txt; sleep 0.01
mkdir -p deep/er; echo made > deep/er/file; sleep 0.01
ln -s log.txt link; chmod +x tool.sh; sleep 0.01
for n in 6 7 8; do echo "line $n" >> log.txt; sleep 0.01; done
"""


def prepared(directory: Path) -> Project:
    """A project in a repository of the user's, with files to change."""
    project = Project(directory)
    for name in ("old.txt", "gone.txt", "tool.sh", "ignored.o"):
        (project.workspace / name).write_text(f"this is {name}\n")
    (project.workspace / ".gitignore").write_text("*.o\n")
    git(project, "init", "-q")
    git(project, "add", ".gitignore", "old.txt")
    git(project, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first")
    return project


def git(project: Project, *arguments: str) -> str:
    """What git says in the workspace."""
    done = subprocess.run(["git", *arguments], cwd=project.workspace, capture_output=True, text=True, check=True)
    return done.stdout


async def worked(project: Project) -> str:
    """A session that runs the script; returns its id."""
    script = project.directory / "script.sh"
    script.write_text(SCRIPT)
    turns = [{"tool_calls": [{"name": "run_command", "args": {"command": f"bash {script}"}}]}, {"text": "Done."}]
    return await project.create(turns, agent="default")


@pytest.mark.parametrize("seed", [20261201])
async def test_a_command_killed_at_any_moment_takes_effect_once(tmp_path: Path, seed: int) -> None:
    """The tree is that of an undisturbed run, each line is there once, no process of the first attempt lives."""
    chance = random.Random(seed)
    undisturbed = prepared(tmp_path / "undisturbed")
    await worked(undisturbed)
    with undisturbed.worker(PLAIN):
        await undisturbed.all_completed()
    for number in range(KILLS):
        project = prepared(tmp_path / str(number))
        before = users_side(project)
        session_id = await worked(project)
        moment = chance.uniform(0.0, 0.2)
        with project.worker(PLAIN) as worker:
            await project.until(lambda p=project: (p.workspace / "log.txt").exists(), "the script runs")
            await asyncio.sleep(moment)
            worker.send_signal(signal.SIGKILL)
            worker.wait(10)
        with project.worker(PLAIN):
            await project.all_completed()
        assert project.tree() == undisturbed.tree(), f"killed {moment:.3f} s after it had begun"
        assert project.left_over(session_id) == []
        assert users_side(project) == before


def users_side(project: Project) -> tuple[str, ...]:
    """What is the user's own in their repository: index, refs, reflogs, stash, config, hooks."""
    index = (project.workspace / ".git" / "index").read_bytes().hex()
    return (
        index,
        git(project, "for-each-ref"),
        git(project, "reflog", "--all"),
        git(project, "stash", "list"),
        (project.workspace / ".git" / "config").read_text(),
        " ".join(sorted(os.listdir(project.workspace / ".git" / "hooks"))),
    )


async def test_what_a_call_left_running_is_gone_before_its_replay_begins(tmp_path: Path) -> None:
    """A sleeper and a listening port, their worker SIGKILLed: both are gone, and the port can be taken again."""
    project = prepared(tmp_path / "project")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    listen = (
        f"import socket,time; s=socket.socket(); s.bind(('127.0.0.1',{port})); s.listen(); "
        "open('listening','a').write('x'); time.sleep(999)"
    )
    first = project.directory / "first"
    command = (
        f"if test -e {first}; then python3 -c \"import socket; socket.socket().bind(('127.0.0.1', {port}))\" "
        f"&& ! test -e listening && echo free; exit; fi; touch {first}; sleep 999 & "
        f'setsid python3 -c "{listen}" & sleep 999'
    )
    turns = [{"tool_calls": [{"name": "run_command", "args": {"command": command}}]}, {"text": "Done."}]
    session_id = await project.create(turns, agent="default")
    with project.worker(PLAIN) as worker:
        await project.until(lambda: (project.workspace / "listening").exists(), "it listens")
        worker.send_signal(signal.SIGKILL)
        worker.wait(10)
    assert len(project.left_over(session_id)) >= 3
    with project.worker(PLAIN):
        await project.all_completed()
    entries = (await project.detail(session_id)).state.memory_entries
    assert entries[2].content == '{"exit_code": 0, "output": "free\\n"}'
    assert project.left_over(session_id) == []


async def test_what_was_edited_after_the_worker_died_stays(tmp_path: Path) -> None:
    """The worker died long ago; a person went on editing. Their edits are kept, and named in the timeline."""
    project = prepared(tmp_path / "project")
    session_id = await worked(project)
    with project.worker(PLAIN) as worker:
        await project.until(lambda: (project.workspace / "log.txt").exists(), "the script runs")
        worker.send_signal(signal.SIGKILL)
        worker.wait(10)
    await project.until(lambda: not runs(project, session_id), "the script is over", 20)
    project.change("UPDATE workers SET seen_at = seen_at - 3600000")
    (project.workspace / "mine.txt").write_text("edited in the morning\n")
    with project.worker(PLAIN):
        await project.all_completed()
    assert (project.workspace / "mine.txt").read_text() == "edited in the morning\n"
    settled = [e for e in (await project.detail(session_id)).events if e.type is EventType.CALL_SETTLED]
    assert any("mine.txt" in str(kept) for event in settled for kept in event.data["kept"])


def runs(project: Project, session_id: str) -> bool:
    """Whether anything of the session's calls lives."""
    return bool(project.left_over(session_id))


async def test_where_git_itself_was_run_nothing_is_rolled_back_or_replayed(tmp_path: Path) -> None:
    """HEAD moved while the call was in doubt: the model is told, and what is there stays."""
    project = prepared(tmp_path / "project")
    command = "git checkout -q -b other && echo x > made.txt && sleep 30"
    turns = [{"tool_calls": [{"name": "run_command", "args": {"command": command}}]}, {"text": "Done."}]
    session_id = await project.create(turns, agent="default")
    with project.worker(PLAIN) as worker:
        await project.until(lambda: (project.workspace / "made.txt").exists(), "it is in the middle")
        worker.send_signal(signal.SIGKILL)
        worker.wait(10)
    with project.worker(PLAIN):
        await project.all_completed()
    entries = (await project.detail(session_id)).state.memory_entries
    assert "git itself was run" in entries[2].content
    assert (project.workspace / "made.txt").exists()
    assert git(project, "branch", "--show-current").strip() == "other"


async def test_two_sessions_in_one_directory_never_undo_each_other(tmp_path: Path) -> None:
    """One is killed in the middle of its call; all that the other did is there at the end."""
    project = prepared(tmp_path / "project")
    doomed = await worked(project)
    lines = [
        {"tool_calls": [{"name": "run_command", "args": {"command": f"echo {n} >> other.txt"}}]} for n in range(6)
    ]
    await project.create([*lines, {"text": "Done."}], name="other", agent="default")
    with project.worker(PLAIN) as worker:
        await project.until(lambda: (project.workspace / "log.txt").exists(), "the script runs")
        worker.send_signal(signal.SIGKILL)
        worker.wait(10)
    with project.worker(PLAIN), project.worker(OURS):
        await project.all_completed()
    assert (project.workspace / "other.txt").read_text() == "".join(f"{n}\n" for n in range(6))
    assert (project.workspace / "log.txt").read_text() == "".join(f"line {n}\n" for n in range(1, 9))
    assert project.left_over(doomed) == []
