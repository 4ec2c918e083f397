"""A rollback takes away only what it may, says what it left, and can be done again and undone."""

from __future__ import annotations

import asyncio
import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from nonoka.adapters.workspace import GitSnapshots
from nonoka.adapters.workspace.kept import find
from nonoka.adapters.workspace.private_repository import directory_of, private_repository
from nonoka.adapters.workspace.stopping import Stop
from nonoka.adapters.workspace.writing import Writer, blobs_of
from nonoka.adapters.workspace.writing_out import entries
from nonoka.errors import UnknownSnapshot, UsageError, WorkspaceError
from nonoka.testing.manual_clock import ManualClock
from tests.support.trees import git, tree_of


async def test_a_file_over_the_cap_is_left_and_named(snapshots: GitSnapshots, workspace: Path) -> None:
    """Whether it was too large then or is too large now; one that looks as it did isn't named."""
    (workspace / "large").write_bytes(b"x" * 2000)
    (workspace / "still").write_bytes(b"x" * 2000)
    (workspace / "grows").write_bytes(b"x")
    taken = await snapshots.take(workspace, "s", "one")
    assert [note.path for note in taken.left_out] == ["large", "still"]
    assert "over the cap of 1000" in taken.left_out[0].why
    (workspace / "large").write_bytes(b"y" * 10)
    (workspace / "grows").write_bytes(b"y" * 3000)
    done = await snapshots.roll_back(workspace, taken.snapshot_id, "s", "before")
    assert [note.path for note in done.kept] == ["grows", "large"]
    assert (workspace / "large").read_bytes() == b"y" * 10
    assert (workspace / "grows").read_bytes() == b"y" * 3000


async def test_a_file_changed_after_the_calls_life_is_left_and_named(
    snapshots: GitSnapshots, workspace: Path
) -> None:
    """A file that is gone is restored all the same; and a second pass comes to the same."""
    (workspace / "gone").write_text("gone")
    taken = await snapshots.take(workspace, "s", "one")
    (workspace / "a").write_text("by the call")
    (workspace / "made").write_text("by the call")
    until = max(round(os.stat(workspace / name).st_ctime * 1000) for name in ("a", "made")) + 1
    while os.stat(workspace / "a").st_ctime_ns // 1_000_000 <= until:
        (workspace / "a").write_text("by the user")
    (workspace / "mine").write_text("by the user")
    (workspace / "gone").unlink()
    for name in ("before", "again"):
        done = await snapshots.roll_back(workspace, taken.snapshot_id, "s", name, until_ms=until)
        assert [note.path for note in done.kept] == ["a", "mine"]
    found = {os.fsdecode(path): entry[-1] for path, entry in tree_of(workspace).items()}
    assert found == {"a": b"by the user", "mine": b"by the user", "gone": b"gone"}


async def test_a_dry_run_changes_nothing_and_keeps_nothing(
    snapshots: GitSnapshots, workspace: Path, clock: ManualClock
) -> None:
    taken = await snapshots.take(workspace, "s", "one")
    (workspace / "a").write_text("changed")
    done = await snapshots.roll_back(workspace, taken.snapshot_id, "s", "before", dry_run=True)
    assert (done.before, [(each.path, each.kind) for each in done.changes]) == (None, [("a", "changed")])
    assert (workspace / "a").read_text() == "changed"
    assert (await snapshots.collect([], taken_until=clock.now_ms(), dry_run=True)).removed == (taken.snapshot_id,)


async def test_locks_that_a_killed_git_left_are_no_obstacle(
    snapshots: GitSnapshots, workspace: Path, home: Path
) -> None:
    await snapshots.take(workspace, "s", "one")
    (directory_of(home, workspace) / "git" / "index.lock").write_text("")
    (workspace / "a").write_text("changed")
    await snapshots.take(workspace, "s", "two")


async def test_a_damaged_index_is_built_anew(snapshots: GitSnapshots, workspace: Path, home: Path) -> None:
    first = await snapshots.take(workspace, "s", "one")
    (directory_of(home, workspace) / "git" / "index").write_bytes(b"DIRC nonsense")
    second = await snapshots.take(workspace, "s", "two")
    assert await snapshots.changes(workspace, first.snapshot_id, second.snapshot_id) == ()


async def test_a_cancelled_rollback_does_nothing_any_more(
    snapshots: GitSnapshots, workspace: Path, home: Path
) -> None:
    """It waits for the private repository here; once cancelled, nothing of it is left to happen later."""
    taken = await snapshots.take(workspace, "s", "one")
    (workspace / "a").write_text("changed")
    with (directory_of(home, workspace) / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rolling = asyncio.create_task(snapshots.roll_back(workspace, taken.snapshot_id, "s", "before"))
        await asyncio.sleep(0)
        rolling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await rolling
    await snapshots.take(workspace, "s", "two")
    assert (workspace / "a").read_text() == "changed"


async def test_the_permissions_of_a_changed_file_stay(snapshots: GitSnapshots, workspace: Path) -> None:
    """Git keeps only whether it is executable; a file that was private must not come back readable by all."""
    (workspace / "a").chmod(0o600)
    taken = await snapshots.take(workspace, "s", "one")
    (workspace / "a").write_text("changed")
    (workspace / "a").chmod(0o700)
    await snapshots.roll_back(workspace, taken.snapshot_id, "s", "before")
    assert (workspace / "a").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("wanted", ["0" * 40, "HEAD", "--all"])
async def test_an_unknown_snapshot_is_refused_by_name(
    snapshots: GitSnapshots, workspace: Path, wanted: str
) -> None:
    with pytest.raises(UnknownSnapshot, match=wanted):
        await snapshots.roll_back(workspace, wanted, "s", "before")


@pytest.mark.parametrize("name", ["../x", "a b", "", "x.lock"])
async def test_a_name_that_could_leave_its_place_is_refused(
    snapshots: GitSnapshots, workspace: Path, name: str
) -> None:
    with pytest.raises(WorkspaceError, match="letters"):
        await snapshots.take(workspace, "s", name)


async def test_a_workspace_that_is_gone_is_refused_by_name(snapshots: GitSnapshots, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="nowhere"):
        await snapshots.take(tmp_path / "nowhere", "s", "one")


def test_the_root_and_the_home_directory_are_refused(
    snapshots: GitSnapshots, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is above the home directory; unless forced."""
    user = tmp_path / "users" / "me"
    user.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(user))
    for unfit in (Path("/"), user, user.parent):
        with pytest.raises(UsageError, match="snapshots of it"):
            snapshots.refuse_unfit(unfit)
        GitSnapshots(home, snapshots._clock, anywhere=True).refuse_unfit(unfit)
    snapshots.refuse_unfit(user / "project")


async def test_the_difference_is_told_as_git_prints_it(snapshots: GitSnapshots, workspace: Path) -> None:
    taken = await snapshots.take(workspace, "s", "one")
    (workspace / "a").write_text("b\n")
    assert b"-a\n+b\n" in await snapshots.diff(workspace, taken.snapshot_id)


async def test_a_snapshot_of_an_empty_directory_empties_it(snapshots: GitSnapshots, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    taken = await snapshots.take(empty, "s", "one")
    assert taken.repository is None
    (empty / "d").mkdir()
    (empty / "d" / "f").write_text("f")
    await snapshots.roll_back(empty, taken.snapshot_id, "s", "before")
    assert tree_of(empty) == {}


async def test_what_git_itself_changed_is_told_in_words(snapshots: GitSnapshots, workspace: Path) -> None:
    taken = await snapshots.take(workspace, "s", "one")
    (workspace / "a").touch()
    git(workspace, "-c", "core.trustctime=true", "update-index", "--refresh")
    assert await snapshots.repository_changes(workspace, taken.repository) is None
    git(workspace, "checkout", "--quiet", "-b", "other")
    (workspace / "b").write_text("b")
    git(workspace, "add", "b")
    assert await snapshots.repository_changes(workspace, taken.repository) == (
        "HEAD was refs/heads/main, is refs/heads/other, branch other is new, the index changed"
    )


async def test_a_repository_that_comes_into_being_is_told(snapshots: GitSnapshots, tmp_path: Path) -> None:
    """In the workspace itself, or somewhere inside."""
    bare = tmp_path / "bare"
    (bare / "inner").mkdir(parents=True)
    taken = await snapshots.take(bare, "s", "one")
    git(bare / "inner", "init", "--quiet")
    assert await snapshots.repository_changes(bare, taken.repository) is not None
    inner = await snapshots.take(bare, "s", "two")
    git(bare, "init", "--quiet")
    said = await snapshots.repository_changes(bare, inner.repository)
    assert said == "a git repository has come into being"


async def test_a_file_system_mounted_inside_gets_its_files_whole(
    snapshots: GitSnapshots, workspace: Path, home: Path, tmp_path: Path
) -> None:
    """Nothing can be moved across: the file is made beside its place. The other file system is /dev/shm."""
    (workspace / "link").symlink_to("a")
    taken = await snapshots.take(workspace, "s", "one")
    stop = Stop()
    with (
        private_repository(home, workspace, stop) as repo,
        tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere,
    ):
        listed = {path: about for about, path in entries(repo, find(repo.git(), taken.snapshot_id).files)}
        (tmp_path / "out").mkdir()
        with blobs_of(repo.git()) as blobs:
            writer = Writer(os.fsencode(tmp_path / "out"), os.fsencode(elsewhere), blobs)
            for path, (mode, blob) in listed.items():
                writer.write(path, mode, blob)
    assert tree_of(tmp_path / "out") == tree_of(workspace)


async def test_what_is_done_on_other_branches_is_nothing_that_happened_in_a_linked_working_tree(
    snapshots: GitSnapshots, workspace: Path, tmp_path: Path
) -> None:
    """People commit, fetch and change branches in the main one meanwhile; a commit or a tag made here counts."""
    linked = tmp_path / "linked"
    git(workspace, "worktree", "add", "--quiet", "-b", "mine", str(linked))
    taken = await snapshots.take(linked, "s", "before")
    git(workspace, "commit", "--quiet", "--allow-empty", "--message", "elsewhere")
    git(workspace, "checkout", "--quiet", "-b", "other")
    git(workspace, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert await snapshots.repository_changes(linked, taken.repository) is None
    git(linked, "tag", "here")
    said = await snapshots.repository_changes(linked, taken.repository)
    assert said == "tag here is new"
    git(linked, "commit", "--quiet", "--allow-empty", "--message", "here")
    said = await snapshots.repository_changes(linked, taken.repository)
    assert said is not None
    assert "branch mine was" in said
