"""Rollbacks, forks and working trees of their own where something is in the way."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import Project, until
from tests.support.trees import git, tree_of

#: Enough that a kill lands in the middle of bringing them back.
FILES = 1_200


def turns(*commands: str) -> str:
    """A script whose turns each run one command; then it says that it is done, as often as it is asked."""
    asked = [{"tool_calls": [{"name": "run_command", "args": {"command": command}}]} for command in commands]
    return json.dumps([*asked, *({"text": "Done."} for _ in range(4))])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of the user's with one commit and a directory in it."""
    path = tmp_path / "repository"
    (path / "inner").mkdir(parents=True)
    (path / "inner" / "a").write_text("a\n")
    (path / "b").write_text("b\n")
    git(path, "init", "--quiet", "--initial-branch=main")
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "--message", "one")
    return path


def project_in(repository: Path, *commands: str, inner: str = "") -> Project:
    """The program in a directory of the repository; its script and its store lie beside that."""
    beside = repository.parent / "beside"
    beside.mkdir()
    project = Project(beside, turns(*commands))
    project.path = repository / inner
    project.environ = project.environ | {"NONOKA_DB": str(beside / "sessions.db")}
    return project


def ran(project: Project, *options: str) -> str:
    """A session that has been worked on; its id."""
    assert project("run", "--quiet", *options, "go").returncode == 0
    return newest(project)["session_id"]


def newest(project: Project) -> dict[str, Any]:
    """The newest session of the list."""
    found: dict[str, Any] = project.json("sessions", "list")[0]
    return found


def files_of(path: Path) -> dict[bytes, Any]:
    """What is in a workspace but for what is git's and ours."""
    return dict(tree_of(path, without=(b".git", b".nonoka")))


def said(project: Project, *args: str, status: int = 0) -> str:
    """What the program wrote, once it has ended with this status."""
    done = project(*args)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def test_each_undo_undoes_the_one_before_and_says_the_turn_that_it_leads_to(repository: Path) -> None:
    """The user's status is the same each time that the files are the same."""
    project = project_in(repository, "echo 1 >> b", "echo 2 >> b; rm inner/a; mkdir c; touch c/d")
    session_id = ran(project)
    end, theirs = files_of(repository), git(repository, "status", "--porcelain=v2")
    said(project, "sessions", "rollback", session_id, "--to", "0")
    assert git(repository, "status", "--porcelain=v2") == ""
    for turn, there in ((3, theirs), (0, ""), (3, theirs)):
        assert f"is at the end of turn {turn};" in said(project, "sessions", "rollback", session_id, "--undo")
        assert git(repository, "status", "--porcelain=v2") == there
    assert files_of(repository) == end


def test_a_rollback_that_is_killed_in_the_middle_is_completed_by_whoever_releases_it(repository: Path) -> None:
    """Before its workspace is another session's; an undo then brings back all that it replaced."""
    project = project_in(repository, "echo 1 >> b", "rm -r many; echo 2 >> b")
    many = repository / "many"
    many.mkdir()
    for number in range(FILES):
        (many / f"{number:04}").write_text(f"{number}\n")
    session_id = ran(project)
    end = files_of(repository)
    with project.started("sessions", "rollback", session_id, "--to", "1") as rollback:
        until(lambda: (many / "0000").exists())
        rollback.send_signal(signal.SIGKILL)
        rollback.wait()
    assert len(list(many.iterdir())) < FILES
    assert "released" in said(project, "sweep")
    assert project.json("sessions", "show", session_id)["status"] == "paused"
    assert len(list(many.iterdir())) == FILES
    assert (repository / "b").read_text() == "b\n1\n"
    said(project, "sessions", "rollback", session_id, "--undo")
    assert files_of(repository) == end


def test_a_fork_begins_where_its_turn_ended_and_leaves_the_old_one_alone(repository: Path) -> None:
    """It has the conversation, the usage and the files of then, and goes on; before its beginning it can't go."""
    project = project_in(repository, "echo 1 >> b", "echo 2 >> b")
    session_id = ran(project)
    old, end = project.json("sessions", "show", session_id), files_of(repository)
    fork_id = project("sessions", "fork", session_id, "--at", "1").stdout.strip()
    fork = project.json("sessions", "show", fork_id)
    place = Path(fork["working_dir"])
    assert (place / "b").read_text() == "b\n1\n"
    assert fork["messages"] == old["messages"][:3]
    assert (fork["usage"]["model_turns"], fork["usage"]["tool_calls"]) == (1, 1)
    said(project, "sessions", "resume", fork_id, "--here")
    fork = project.json("sessions", "show", fork_id)
    assert fork["messages"] == old["messages"]
    assert (place / "b").read_text() == "b\n1\n2\n"
    assert files_of(repository) == end
    assert project.json("sessions", "show", session_id) == old
    for command in (("rollback", fork_id, "--to"), ("fork", fork_id, "--at")):
        assert f"nonoka sessions fork {session_id} --at 0" in said(project, "sessions", *command, "0", status=2)
    said(project, "sessions", "rollback", fork_id, "--to", "1")
    assert (place / "b").read_text() == "b\n1\n"


def test_a_turn_that_has_not_ended_is_no_place_to_go_back_to(repository: Path) -> None:
    """Its calls have no results: neither a rollback nor a fork leaves a conversation like that."""
    project = project_in(repository, "echo 1 >> b", "echo 2 >> b; sleep 99")
    with project.started("run", "go") as run:
        until(lambda: (repository / "b").read_text().endswith("2\n"))
        session_id = newest(project)["session_id"]
        said(project, "sessions", "pause", session_id, "--now")
        assert run.wait() == 3
    assert "turn 2 has not ended" in said(project, "sessions", "rollback", session_id, "--to", "2", status=2)
    assert "turn 2 has not ended" in said(project, "sessions", "fork", session_id, "--at", "2", status=2)
    said(project, "sessions", "rollback", session_id, "--to", "1")
    assert (repository / "b").read_text() == "b\n1\n"


def test_a_session_begun_inside_a_repository_works_there_in_its_own_tree(repository: Path) -> None:
    """All of its work is committed, and nothing of it shows in the user's status."""
    project = project_in(repository, "echo x >> a; echo y >> ../b", "echo z >> ../b", inner="inner")
    session_id = ran(project, "--isolation", "worktree")
    assert git(repository, "show", f"nonoka/{session_id}:inner/a") == "a\nx\n"
    assert git(repository, "show", f"nonoka/{session_id}:b") == "b\ny\nz\n"
    assert git(repository, "status", "--porcelain") == ""
    assert f"merge nonoka/{session_id}" in said(project, "sessions", "show", session_id)


def test_a_working_tree_that_is_gone_costs_its_session_no_answer(repository: Path) -> None:
    """It is told that nothing could be committed; what needs the files fails at once, not after minutes."""
    project = project_in(repository, "echo x >> b", "echo y >> b")
    session_id = ran(project, "--isolation", "worktree")
    place = Path(project.json("sessions", "show", session_id)["working_dir"])
    place.rename(repository.parent / "elsewhere")
    told = said(project, "run", "--session", session_id, "and now?")
    assert "its work is not committed" in told
    assert "is no directory" in said(project, "sessions", "rollback", session_id, "--to", "1", status=1)
    (repository.parent / "elsewhere").rename(place)
    said(project, "sessions", "rollback", session_id, "--to", "1")
    place.rename(repository.parent / "elsewhere")
    assert "is no directory" in said(project, "sessions", "resume", session_id, "--here", status=1)
