"""What is ignored is in no snapshot and survives every rollback, whichever rules say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from nonoka.adapters.clock import SystemClock
from nonoka.adapters.workspace import GitSnapshots
from tests.support.trees import git


async def names_in(snapshots: GitSnapshots, workspace: Path, tmp_path: Path) -> set[str]:
    """The files of a fresh snapshot, by writing it out."""
    taken = await snapshots.take(workspace, "s", "looked")
    out = tmp_path / f"out-{taken.snapshot_id}"
    await snapshots.write_out(workspace, taken.snapshot_id, out)
    return {str(file.relative_to(out)) for file in out.rglob("*") if not file.is_dir()}


async def test_ignore_files_of_every_level_hold(snapshots: GitSnapshots, workspace: Path, tmp_path: Path) -> None:
    """``.gitignore`` here and below, ``.git/info/exclude``; our own directory, even if a rule brings it in."""
    (workspace / ".gitignore").write_text("*.log\n!.nonoka\n!.nonoka/**\n")
    (workspace / "d").mkdir()
    (workspace / "d" / ".gitignore").write_text("local\n")
    (workspace / ".git" / "info" / "exclude").write_text("secret\n")
    (workspace / ".nonoka").mkdir()
    for name in ("x.log", "d/local", "d/y", "secret", ".nonoka/sessions.db"):
        (workspace / name).write_text(name)
    assert await names_in(snapshots, workspace, tmp_path) == {".gitignore", "a", "d/.gitignore", "d/y"}


@pytest.mark.parametrize("configured", [True, False])
async def test_the_users_global_excludes_hold(
    configured: bool, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file that ``core.excludesFile`` names, and git's default place for it."""
    user = tmp_path / "user"
    (user / ".config" / "git").mkdir(parents=True)
    if configured:
        (user / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
    (user / ("mine" if configured else ".config/git/ignore")).write_text("*.swp\n")
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (workspace / "x.swp").write_text("x")
    assert await names_in(GitSnapshots(tmp_path / "store", SystemClock()), workspace, tmp_path) == {"a"}


async def test_a_file_that_git_tracks_is_in_though_a_rule_ignores_it(
    snapshots: GitSnapshots, workspace: Path, tmp_path: Path
) -> None:
    """As git itself treats it; also when it was away for a while."""
    (workspace / "tracked.log").write_text("tracked")
    git(workspace, "add", "tracked.log")
    (workspace / ".gitignore").write_text("*.log\n")
    (workspace / "other.log").write_text("ignored")
    assert await names_in(snapshots, workspace, tmp_path) == {".gitignore", "a", "tracked.log"}
    (workspace / "tracked.log").unlink()
    assert await names_in(snapshots, workspace, tmp_path) == {".gitignore", "a"}
    (workspace / "tracked.log").write_text("again")
    assert await names_in(snapshots, workspace, tmp_path) == {".gitignore", "a", "tracked.log"}


async def test_a_file_that_became_ignored_is_no_longer_taken(
    snapshots: GitSnapshots, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "x.log").write_text("x")
    assert "x.log" in await names_in(snapshots, workspace, tmp_path)
    (workspace / ".git" / "info" / "exclude").write_text("*.log\n")
    assert "x.log" not in await names_in(snapshots, workspace, tmp_path)


async def test_rules_above_a_workspace_inside_a_repository_hold(
    snapshots: GitSnapshots, workspace: Path, tmp_path: Path
) -> None:
    (workspace / ".gitignore").write_text("*.log\n/sub/here\n")
    sub = workspace / "sub"
    sub.mkdir()
    for name in ("x.log", "here", "kept"):
        (sub / name).write_text(name)
    assert await names_in(snapshots, sub, tmp_path) == {"kept"}


async def test_a_workspace_that_its_repository_ignores_goes_by_its_own_rules(
    snapshots: GitSnapshots, workspace: Path, tmp_path: Path
) -> None:
    """Otherwise nothing in it would ever be restored."""
    (workspace / ".gitignore").write_text("scratch/\n")
    scratch = workspace / "scratch"
    scratch.mkdir()
    (scratch / "work").write_text("work")
    assert await names_in(snapshots, scratch, tmp_path) == {"work"}


async def test_what_only_the_snapshots_rules_protect_stays(snapshots: GitSnapshots, workspace: Path) -> None:
    """A command that empties ``.gitignore`` can't hand the ignored files over to the rollback."""
    (workspace / ".gitignore").write_text("*.log\nbuild/\n")
    (workspace / "precious.log").write_text("precious")
    (workspace / "build").mkdir()
    (workspace / "build" / "out").write_text("precious")
    taken = await snapshots.take(workspace, "s", "one")
    (workspace / ".gitignore").unlink()
    done = await snapshots.roll_back(workspace, taken.snapshot_id, "s", "before")
    assert (workspace / "precious.log").read_text() == (workspace / "build" / "out").read_text() == "precious"
    assert {note.path: note.why for note in done.kept} == {
        "precious.log": "ignored when the snapshot was taken",
        "build/out": "ignored when the snapshot was taken",
    }


async def test_what_only_the_rules_of_now_protect_stays(snapshots: GitSnapshots, workspace: Path) -> None:
    (workspace / "x.log").write_text("then")
    taken = await snapshots.take(workspace, "s", "one")
    (workspace / ".git" / "info" / "exclude").write_text("*.log\n")
    (workspace / "x.log").write_text("now")
    done = await snapshots.roll_back(workspace, taken.snapshot_id, "s", "before")
    assert (workspace / "x.log").read_text() == "now"
    assert [(note.path, note.why) for note in done.kept] == [("x.log", "ignored now")]
    (workspace / "x.log").unlink()
    await snapshots.roll_back(workspace, taken.snapshot_id, "s", "before")
    assert (workspace / "x.log").read_text() == "then"
