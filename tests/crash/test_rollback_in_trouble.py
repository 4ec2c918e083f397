"""Settling whose rollback can't be done now, can't be done ever, or is killed in the middle of it."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

from nonoka.adapters.clock import SystemClock
from nonoka.adapters.workspace import GitSnapshots
from nonoka.records.event import EventType
from tests.support.project import PLAIN, Project

#: Enough that a kill lands in the middle of bringing them back.
FILES = 2_000


async def in_doubt(project: Project, command: str) -> str:
    """A session whose worker was killed in the middle of a command, once that had made the file ``begun``."""
    call = {
        "name": "run_command",
        "args": {"command": f"{command}; touch begun; test -e {project.directory}/go || sleep 99"},
    }
    session_id = await project.create([{"tool_calls": [call]}, {"text": "Done."}], agent="default")
    with project.worker(PLAIN) as worker:
        await project.until(lambda: (project.workspace / "begun").exists(), "the command is in the middle")
        worker.send_signal(signal.SIGKILL)
        worker.wait(10)
    (project.directory / "go").touch()
    return session_id


async def told(project: Project, session_id: str) -> str:
    """What the model was told of the call."""
    return (await project.detail(session_id)).state.memory_entries[2].content


async def test_a_call_whose_workspace_is_gone_is_settled_without_a_rollback(project: Project) -> None:
    """The session goes on, and the model is told."""
    session_id = await in_doubt(project, "echo x >> log")
    project.workspace.rename(project.directory / "elsewhere")
    with project.worker(PLAIN, cwd=project.directory):
        await project.all_completed()
    assert "nothing was rolled back, for the workspace" in await told(project, session_id)
    assert project.left_over(session_id) == []


async def test_a_rollback_that_fails_is_tried_again_until_it_can_be_done(project: Project) -> None:
    """Git fails for a while: the call is neither answered nor run again before its files are back."""
    session_id = await in_doubt(project, "echo x >> log")
    broken = breakable_git(project)
    broken.touch()
    with project.worker(PLAIN, environ={"PATH": f"{broken.parent}:/usr/bin:/bin"}):
        await project.until(lambda: stuck(project) != [], "a rollback has failed")
        assert (project.workspace / "log").read_text() == "x\n"
        broken.unlink()
        await project.all_completed()
    assert (project.workspace / "log").read_text() == "x\n"
    assert "exit_code" in await told(project, session_id)


async def test_a_rollback_that_goes_on_failing_is_given_up_some_day(project: Project) -> None:
    """Nothing waits for ever; what is there stays, and the model is told why."""
    session_id = await in_doubt(project, "echo x >> log")
    broken = breakable_git(project)
    broken.touch()
    with project.worker(PLAIN, environ={"PATH": f"{broken.parent}:/usr/bin:/bin"}):
        await project.until(lambda: stuck(project) != [], "a rollback has failed")
        project.change(
            "UPDATE step_updates SET payload_json = json_set(payload_json, '$.stuck_since', 1)"
            " WHERE json_extract(payload_json, '$.stuck_since') > 1"
        )
        # As every commit does: who holds the session reads it anew then.
        project.change("UPDATE checkpoints SET version = version + 1")
        await project.all_completed()
    assert "nothing was rolled back, for " in await told(project, session_id)
    assert (project.workspace / "log").read_text() == "x\n"


async def test_what_a_rollback_replaces_is_kept_though_it_is_killed_in_the_middle(project: Project) -> None:
    """Whoever settled is killed while files come back: the next one completes it, and all of it can be undone."""
    files = project.workspace / "files"
    files.mkdir()
    for number in range(FILES):
        (files / f"{number:04}").write_text(f"{number}\n")
    session_id = await in_doubt(project, "rm -r files; echo mine > made")
    with project.worker(PLAIN) as settler:
        await project.until(lambda: (files / "0000").exists(), "the files come back")
        settler.send_signal(signal.SIGKILL)
        settler.wait(10)
    there = len(list(files.iterdir()))
    with project.worker(PLAIN):
        await project.all_completed()
    events = (await project.detail(session_id)).events
    assert there < FILES or any(event.type is EventType.CALL_SETTLED for event in events)
    async with project.store() as store:
        taken = [one for one in await store.snapshots_of(session_id) if one.why == "before_rollback"]
    assert len(taken) == 1
    undone = project.directory / "undone"
    await GitSnapshots(project.db.parent, SystemClock()).write_out(project.workspace, taken[0].snapshot_id, undone)
    assert sorted(path.name for path in undone.rglob("*")) == ["begun", "made"]


def breakable_git(project: Project) -> Path:
    """A git that fails as long as the file is there that this returns; its directory is to be first on PATH."""
    programs = project.directory / "programs"
    programs.mkdir()
    git = programs / "git"
    git.write_text(
        f'#!/bin/sh\ntest -e {programs}/broken && echo "no room" >&2 && exit 1\nexec {shutil.which("git")} "$@"\n'
    )
    git.chmod(0o755)
    return programs / "broken"


def stuck(project: Project) -> list[object]:
    """When rollbacks failed first, as it is on record."""
    with closing(sqlite3.connect(f"file:{project.db}?mode=ro", uri=True, timeout=30)) as db:
        asked = "SELECT json_extract(payload_json, '$.stuck_since') FROM step_updates WHERE update_type = 'status'"
        return [row[0] for row in db.execute(asked) if row[0]]
