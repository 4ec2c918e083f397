"""Going back to an earlier turn, starting another session from there, and working in a tree of one's own."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import Project

SCRIPT = """\
- {tool_calls: [{name: run_command, args: {command: "echo one >> a.txt; echo built > a.o"}}]}
- {tool_calls: [{name: run_command, args: {command: "echo two >> a.txt; mv old.txt new.txt; echo again >> a.o"}}]}
- {text: Done.}
- {text: Heard.}
"""
BEFORE = {".gitignore": "*.o\n", "a.txt": "zero\n", "old.txt": "kept\n"}
AT_ONE = {**BEFORE, "a.txt": "zero\none\n"}
AT_TWO = {".gitignore": "*.o\n", "a.txt": "zero\none\ntwo\n", "new.txt": "kept\n"}


@pytest.fixture
def nonoka(tmp_path: Path) -> Project:
    """The command line in a git repository with some files, one commit, and the script outside of it."""
    directory = tmp_path / "project"
    directory.mkdir()
    nonoka = Project(directory, "")
    nonoka.script.unlink()
    outside = tmp_path / "script.yaml"
    outside.write_text(SCRIPT)
    nonoka.environ["NONOKA_MODEL"] = f"script:{outside}"
    for name, text in BEFORE.items():
        (directory / name).write_text(text)
    for words in ("init -q", "config user.name a", "config user.email a@b", "add .", "commit -q -m first"):
        git(directory, *words.split())
    return nonoka


def git(directory: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=directory, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def files(directory: Path) -> dict[str, str]:
    """What a person sees, but for what is ignored."""
    found = [
        path for path in directory.iterdir() if path.is_file() and path.suffix != ".o" and path.name != ".git"
    ]
    return {path.name: path.read_text() for path in sorted(found)}


def ran(nonoka: Project, *options: str) -> str:
    """A session that has run; its id."""
    done = nonoka("run", *options, "Do it")
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()[0].strip()


def said(shown: dict[str, Any]) -> list[str]:
    return [message["role"] for message in shown["messages"]]


def test_conversation_and_files_go_back_together_and_forth_again(nonoka: Project) -> None:
    """What is ignored stays as it is, and a dry run changes nothing."""
    session_id = ran(nonoka)
    assert files(nonoka.path) == AT_TWO
    changed = nonoka("sessions", "diff", session_id, "--names").stdout
    assert changed.split() == ["changed", "a.txt", "added", "new.txt", "removed", "old.txt"]
    assert "+two" in nonoka("sessions", "diff", session_id, "--from", "1").stdout

    dry = nonoka("sessions", "rollback", session_id, "--to", "1", "--dry-run")
    assert (dry.returncode, files(nonoka.path)) == (0, AT_TWO)
    assert sorted(dry.stdout.split()) == sorted(["changed", "a.txt", "removed", "new.txt", "added", "old.txt"])

    assert nonoka("sessions", "rollback", session_id, "--to", "1").returncode == 0
    assert files(nonoka.path) == AT_ONE
    assert (nonoka.path / "a.o").read_text() == "built\nagain\n"
    back = nonoka.show(session_id)
    assert (back["status"], said(back)) == ("paused", ["user", "assistant", "tool"])

    assert nonoka("sessions", "rollback", session_id, "--undo").returncode == 0
    assert files(nonoka.path) == AT_TWO
    assert said(nonoka.show(session_id)) == ["user", "assistant", "tool", "assistant", "tool", "assistant"]


def test_a_session_goes_on_from_where_it_was_brought_back_to(nonoka: Project) -> None:
    """Turn numbers are not used again."""
    session_id = ran(nonoka)
    assert nonoka("sessions", "rollback", session_id, "--to", "1").returncode == 0
    assert nonoka("sessions", "resume", session_id, "--here").returncode == 0
    assert files(nonoka.path) == AT_TWO
    shown = nonoka.show(session_id)
    assert (shown["status"], shown["result"]) == ("completed", "Done.")
    turns = [event["turn"] for event in shown["events"] if event["type"] == "call_started"]
    assert turns[:2] == [1, 2]
    assert turns[2] > 3


def test_what_another_session_changed_since_is_undone_only_by_force(nonoka: Project) -> None:
    session_id, other = ran(nonoka), ran(nonoka, "--agent", "default", "--max-model-turns", "3")
    there = files(nonoka.path)
    refused = nonoka("sessions", "rollback", session_id, "--to", "0")
    assert refused.returncode == 1
    assert other[:8] in refused.stderr
    assert "a.txt" in refused.stderr
    assert files(nonoka.path) == there
    assert nonoka("sessions", "rollback", session_id, "--to", "0", "--force").returncode == 0
    assert files(nonoka.path) == BEFORE


def test_a_fork_begins_where_the_other_was_and_leaves_it_as_it_is(nonoka: Project) -> None:
    """In a directory of its own, or in a working tree of the repository; it goes on from there."""
    session_id = ran(nonoka)
    for how, beside in ([], "forks"), (["--worktree"], "worktrees"):
        forked = nonoka("sessions", "fork", session_id, "--at", "1", *how)
        fork_id = forked.stdout.strip()
        place = nonoka.path.with_name(f"{nonoka.path.name}.nonoka-{beside}") / fork_id
        assert files(place) == AT_ONE, forked.stderr
        assert nonoka("sessions", "resume", fork_id, "--here").returncode == 0
        assert files(place) == AT_TWO
        shown = nonoka.show(fork_id)
        assert (shown["result"], shown["working_dir"]) == ("Done.", str(place))
    assert git(place, "log", "-1", "--format=%D").split() == ["HEAD", "->", f"nonoka/{fork_id}"]
    assert files(nonoka.path) == AT_TWO
    assert git(nonoka.path, "log", "--format=%s") == "first"


def test_a_session_in_a_working_tree_of_its_own_leaves_its_work_on_its_branch(nonoka: Project) -> None:
    """The directory that it was started in stays as it is; ``show`` says how to merge."""
    session_id = ran(nonoka, "--isolation", "worktree")
    assert files(nonoka.path) == BEFORE
    branch = f"nonoka/{session_id}"
    assert git(nonoka.path, "show", f"{branch}:a.txt") == "zero\none\ntwo"
    page = nonoka("sessions", "show", session_id).stdout
    assert f"merge {branch}" in page
    git(nonoka.path, "merge", "-q", branch)
    assert files(nonoka.path) == AT_TWO


def test_a_working_tree_without_a_repository_is_refused_before_anything_is_stored(tmp_path: Path) -> None:
    nonoka = Project(tmp_path, SCRIPT)
    refused = nonoka("enqueue", "--isolation", "worktree", "Do it")
    assert refused.returncode in (1, 2)
    assert "git" in refused.stderr
    assert nonoka.json("sessions", "list") == []
