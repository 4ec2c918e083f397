"""A collection frees what nobody keeps, and never what somebody does."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from nonoka.adapters.workspace import GitSnapshots
from nonoka.adapters.workspace.private_repository import directory_of
from nonoka.errors import UnknownSnapshot
from nonoka.testing.manual_clock import ManualClock
from tests.support.trees import git


def repository_of(home: Path, workspace: Path) -> Path:
    return directory_of(home, workspace) / "git"


async def test_only_what_nobody_keeps_goes(snapshots: GitSnapshots, workspace: Path, clock: ManualClock) -> None:
    first = await snapshots.take(workspace, "s", "one")
    (workspace / "a").write_text("second")
    second = await snapshots.take(workspace, "s", "two")
    (workspace / "a").write_text("third")
    clock.advance_ms(10_000)
    young = await snapshots.take(workspace, "s", "three")
    told = await snapshots.collect([first.snapshot_id], taken_until=clock.now_ms() - 5_000, dry_run=True)
    done = await snapshots.collect([first.snapshot_id], taken_until=clock.now_ms() - 5_000)
    assert told.removed == done.removed == (second.snapshot_id,)
    assert done.bytes_after == snapshots.size()
    with pytest.raises(UnknownSnapshot):
        await snapshots.changes(workspace, second.snapshot_id)
    await snapshots.roll_back(workspace, first.snapshot_id, "s", "before")
    assert (workspace / "a").read_text() == "a\n"
    await snapshots.roll_back(workspace, young.snapshot_id, "s", "again")
    assert (workspace / "a").read_text() == "third"


async def test_snapshots_outlive_their_workspace_until_nobody_keeps_them(
    snapshots: GitSnapshots, clock: ManualClock, home: Path, tmp_path: Path
) -> None:
    """Also those above it may be gone: of a git that is given a work tree, all but the last must be there."""
    workspace = tmp_path / "above" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "a").write_text("a\n")
    taken = await snapshots.take(workspace, "s", "one")
    shutil.rmtree(workspace.parent)
    await snapshots.collect([taken.snapshot_id], taken_until=clock.now_ms())
    await snapshots.write_out(workspace, taken.snapshot_id, tmp_path / "out")
    assert (tmp_path / "out" / "a").read_text() == "a\n"
    await snapshots.collect([], taken_until=clock.now_ms())
    assert list((home / "snapshots").iterdir()) == []


async def test_a_snapshot_after_a_collection_is_whole(
    snapshots: GitSnapshots, workspace: Path, clock: ManualClock
) -> None:
    """Nothing has changed since, so nothing of it would have to be written, had it not just been removed."""
    await snapshots.take(workspace, "s", "one")
    await snapshots.collect([], taken_until=clock.now_ms())
    taken = await snapshots.take(workspace, "s", "two")
    (workspace / "a").write_text("changed")
    await snapshots.roll_back(workspace, taken.snapshot_id, "s", "before")
    assert (workspace / "a").read_text() == "a\n"


async def test_what_a_session_at_work_took_stays(
    snapshots: GitSnapshots, workspace: Path, clock: ManualClock
) -> None:
    """It is about to be recorded, however long ago the clock says that it was taken."""
    taken = await snapshots.take(workspace, "at-work", "one")
    gone = await snapshots.take(workspace, "ended", "one")
    clock.advance_ms(86_400_000)
    done = await snapshots.collect([], taken_until=clock.now_ms(), sparing=["at-work"])
    assert done.removed == (gone.snapshot_id,)
    await snapshots.roll_back(workspace, taken.snapshot_id, "s", "before")


async def test_what_a_killed_collection_left_is_freed_by_the_next(
    snapshots: GitSnapshots, workspace: Path, home: Path, clock: ManualClock
) -> None:
    """Its refs were gone and their objects still there: nothing else tells that there is anything to free."""
    (workspace / "a").write_bytes(random.Random(1).randbytes(900))
    await snapshots.take(workspace, "s", "one")
    repository = repository_of(home, workspace)
    shutil.rmtree(repository / "refs" / "nonoka")
    (repository / "collection-begun").touch()
    (workspace / "a").write_text("small")
    kept = await snapshots.take(workspace, "s", "two")
    done = await snapshots.collect([kept.snapshot_id], taken_until=clock.now_ms())
    assert done.removed == ()
    assert "unreachable" not in git(
        workspace, "--git-dir", str(repository), "fsck", "--unreachable", "--no-reflogs"
    )
    assert not (repository / "collection-begun").exists()


async def test_a_repository_that_is_broken_stops_no_other(
    snapshots: GitSnapshots, workspace: Path, home: Path, clock: ManualClock, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    await snapshots.take(workspace, "s", "one")
    await snapshots.take(other, "s", "one")
    (repository_of(home, workspace) / "HEAD").write_text("nonsense")
    done = await snapshots.collect([], taken_until=clock.now_ms())
    assert len(done.removed) == 1
    (error,) = done.errors
    assert str(workspace) in error


async def test_a_dry_run_tells_about_what_a_collection_frees(
    snapshots: GitSnapshots, workspace: Path, clock: ManualClock
) -> None:
    for number in range(20):
        (workspace / f"file{number}").write_bytes(random.Random(number).randbytes(900))
    await snapshots.take(workspace, "s", "one")
    for number in range(20):
        (workspace / f"file{number}").unlink()
    kept = (await snapshots.take(workspace, "s", "two")).snapshot_id
    told = await snapshots.collect([kept], taken_until=clock.now_ms(), dry_run=True)
    assert told.bytes_before == snapshots.size()
    assert 20 * 900 < told.bytes_before - told.bytes_after < told.bytes_before
