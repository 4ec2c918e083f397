"""``nonoka gc``: what it says would go goes, nothing else does, and nothing goes unasked."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.program import Project
from tests.support.trees import Tree, git, tree_of

WORK = """\
- {tool_calls: [{name: run_command, args: {command: "echo one > f; head -c 100000 /dev/zero | tr '\\\\0' x"}}]}
- {tool_calls: [{name: run_command, args: {command: "echo two > f"}}]}
- {text: Done.}
"""
A_DAY = 86_400_000

Make = Callable[[str], Project]


@pytest.fixture
def project(tmp_path: Path) -> Make:
    def make(script: str) -> Project:
        place = tmp_path / "project"
        place.mkdir()
        return Project(place, script)

    return make


def stored(nonoka: Project) -> list[str]:
    """All rows of the store, but those that tell when a collection is due."""
    with closing(sqlite3.connect(nonoka.path / ".nonoka" / "sessions.db")) as db:
        return list(db.iterdump())


def beside(nonoka: Project) -> Tree:
    """Everything that lies beside the store, by name and content."""
    return {
        path: entry
        for path, entry in tree_of(nonoka.path / ".nonoka", without=()).items()
        if not path.startswith((b"sessions.db", b"workers"))
    }


def left_alone(nonoka: Project, session_id: str, days: float = 40) -> None:
    """The session, and its snapshots, are that old: behind everybody's back."""
    ago = round(days * A_DAY)
    with closing(sqlite3.connect(nonoka.path / ".nonoka" / "sessions.db")) as db, db:
        when = "created_at = created_at - ?, last_active = last_active - ?"
        db.execute(f"UPDATE cli_sessions SET {when} WHERE session_id = ?", (ago, ago, session_id))
        found = db.execute("SELECT snapshot_id FROM snapshots WHERE session_id = ?", (session_id,)).fetchall()
        for (snapshot_id,) in found:
            older = age_snapshot(nonoka, snapshot_id, round(time.time() * 1000) - ago)
            change = "UPDATE snapshots SET snapshot_id = ?, taken_at = taken_at - ? WHERE snapshot_id = ?"
            db.execute(change, (older, ago, snapshot_id))


def age_snapshot(nonoka: Project, snapshot_id: str, at_ms: int) -> str:
    """The same snapshot as taken then; returns its id."""
    for private in (nonoka.path / ".nonoka" / "snapshots").glob("*/git"):
        here = ("--git-dir", str(private))
        said = git(nonoka.path, *here, "log", "-1", "--format=%T %s", snapshot_id, check=False)
        if said.startswith("fatal") or not said:
            continue
        tree, _, message = said.strip().partition(" ")
        about = json.loads(message)
        text = json.dumps(about | {"at_ms": at_ms})
        older = git(nonoka.path, *here, "commit-tree", "-m", text, tree).strip()
        git(nonoka.path, *here, "update-ref", f"refs/nonoka/{about['session']}/{about['name']}", older)
        return older
    raise AssertionError(f"no snapshot {snapshot_id}")


def ran(nonoka: Project, *more: str) -> str:
    """A session that has ended; returns its id."""
    done = nonoka("run", "-q", *more, "Work")
    assert done.returncode == 0, done.stderr
    return done.stderr.strip().splitlines()[0]


def repository(nonoka: Project) -> None:
    (nonoka.path / ".gitignore").write_text(".nonoka/\n")
    git(nonoka.path, "init", "--quiet", "--initial-branch=main")
    git(nonoka.path, "add", ".gitignore", "script.yaml")
    git(nonoka.path, "commit", "--quiet", "--message", "first")


def test_what_a_dry_run_tells_is_what_goes_and_it_changes_nothing(project: Make) -> None:
    nonoka = project(WORK)
    repository(nonoka)
    old, tree = ran(nonoka), ran(nonoka, "--isolation", "worktree")
    young = ran(nonoka)
    left_alone(nonoka, old)
    left_alone(nonoka, tree)
    place = nonoka.path.with_name("project.nonoka-worktrees") / tree
    before, files, theirs = stored(nonoka), beside(nonoka), tree_of(place)

    told = nonoka.json("gc", "--dry-run", "--older-than", "30")

    assert (stored(nonoka), beside(nonoka), tree_of(place)) == (before, files, theirs)
    assert sorted(told["sessions"]) == sorted(told["artifacts"]) == sorted([old, tree])
    assert told["snapshots"] == 4
    assert told["directories"] == [str(place)]

    done = nonoka.json("gc", "--older-than", "30")

    same = ("sessions", "artifacts", "artifact_bytes", "snapshots", "directories", "left", "errors")
    assert {key: done[key] for key in same} == {key: told[key] for key in same}
    assert done["snapshot_bytes"] > 0
    assert [line["session_id"] for line in nonoka.json("sessions", "list")] == [young]
    assert [path.name for path in (nonoka.path / ".nonoka" / "artifacts").iterdir()] == [young]
    assert not place.parent.exists()
    assert git(nonoka.path, "show", f"nonoka/{tree}:f") == "two\n"
    assert nonoka("gc", "--older-than", "30").stdout == "nothing to collect\n"
    assert nonoka("sessions", "rollback", young, "--to", "1").returncode == 0
    assert (nonoka.path / "f").read_text() == "one\n"
    assert nonoka("doctor", "--check-store").returncode == 0


def test_nothing_is_deleted_unless_it_is_set(project: Make) -> None:
    nonoka = project(WORK)
    session_id = ran(nonoka)
    left_alone(nonoka, session_id)
    assert nonoka.json("gc")["sessions"] == []
    (nonoka.path / "nonoka.toml").write_text("keep_days = 50\n")
    assert nonoka.json("gc")["sessions"] == []
    (nonoka.path / "nonoka.toml").write_text("keep_days = 30\n")
    said = nonoka("doctor").stdout
    assert "nonoka gc would free" in said
    assert "(1 session, 2 snapshots)" in said
    assert nonoka.json("gc")["sessions"] == [session_id]


def test_a_working_tree_with_uncommitted_work_is_left_and_named(project: Make) -> None:
    """Until it is committed: then the next collection removes it. ``sessions delete`` leaves it to that."""
    nonoka = project(WORK)
    repository(nonoka)
    session_id = ran(nonoka, "--isolation", "worktree")
    place = nonoka.path.with_name("project.nonoka-worktrees") / session_id
    (place / "mine").write_text("edited by hand")
    assert nonoka("sessions", "delete", "--yes", session_id).returncode == 0

    done = nonoka("gc")

    assert done.returncode == 0
    assert f"left {place}: not committed: mine\n" in done.stdout
    assert (place / "mine").read_text() == "edited by hand"
    assert f"left       {place}" in nonoka("doctor").stdout
    git(place, "add", "mine")
    git(place, "commit", "--quiet", "--message", "mine")
    assert f"removed {place}\n" in nonoka("gc").stdout
    assert git(nonoka.path, "show", f"nonoka/{session_id}:mine") == "edited by hand"


def test_beyond_the_bound_the_oldest_snapshots_of_ended_sessions_go(project: Make) -> None:
    """A rollback that needed one is refused, and takes no later one in its place."""
    nonoka = project(WORK)
    session_id, young = ran(nonoka), ran(nonoka)
    left_alone(nonoka, session_id, days=2)
    nonoka.environ["NONOKA_SNAPSHOTS_MB"] = "0.001"

    told, done = nonoka.json("gc", "--dry-run"), nonoka.json("gc")

    assert told["let_go"] == done["let_go"] == done["snapshots"] == 2
    assert done["over_bytes"] > 0
    assert "snapshots still take" in nonoka("gc").stdout
    assert nonoka.json("gc")["let_go"] == 0
    rollback = nonoka("sessions", "rollback", session_id, "--to", "1", "--force")
    assert rollback.returncode == 1, rollback.stderr
    assert "may have been collected" in rollback.stderr
    assert (nonoka.path / "f").read_text() == "two\n"
    assert nonoka("sessions", "rollback", young, "--to", "1").returncode == 0


def test_stores_in_one_directory_leave_each_other_s_things_alone(project: Make) -> None:
    """Artifacts and snapshots lie in one place, and what one store does not know is the other's."""
    nonoka = project(WORK)
    session_id = ran(nonoka)
    left_alone(nonoka, session_id)
    other = str(nonoka.path / ".nonoka" / "other.db")
    assert nonoka("enqueue", "--db", other, "Hello").returncode == 0
    before = beside(nonoka)

    done = nonoka("gc", "--db", other)

    assert (done.returncode, done.stdout) == (0, "nothing to collect\n")
    assert beside(nonoka) == before


def test_the_store_s_file_becomes_smaller(project: Make) -> None:
    nonoka = project("- {text: " + "word " * 100_000 + "}\n")
    for _ in range(3):
        ran(nonoka)
    before = (nonoka.path / ".nonoka" / "sessions.db").stat().st_size
    done = nonoka.json("gc", "--older-than", "0")
    assert len(done["sessions"]) == 3
    assert done["store_bytes"] > 1_000_000
    assert (nonoka.path / ".nonoka" / "sessions.db").stat().st_size < before - 1_000_000
