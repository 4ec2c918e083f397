"""A collection frees what nobody keeps, and never what somebody does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nonoka.adapters.workspace import GitSnapshots
from nonoka.errors import UnknownSnapshot
from nonoka.testing.manual_clock import ManualClock


async def test_only_what_nobody_keeps_goes(snapshots: GitSnapshots, workspace: Path, clock: ManualClock) -> None:
    first = await snapshots.take(workspace, "s", "one")
    (workspace / "a").write_text("second")
    second = await snapshots.take(workspace, "s", "two")
    (workspace / "a").write_text("third")
    clock.advance_ms(10_000)
    young = await snapshots.take(workspace, "s", "three")
    told = await snapshots.collect([first.snapshot_id], younger_than_ms=5_000, dry_run=True)
    done = await snapshots.collect([first.snapshot_id], younger_than_ms=5_000)
    assert told.removed == done.removed == (second.snapshot_id,)
    assert done.bytes_after == snapshots.size()
    with pytest.raises(UnknownSnapshot):
        await snapshots.changes(workspace, second.snapshot_id)
    await snapshots.roll_back(workspace, first.snapshot_id, "s", "before")
    assert (workspace / "a").read_text() == "a\n"
    await snapshots.roll_back(workspace, young.snapshot_id, "s", "again")
    assert (workspace / "a").read_text() == "third"


async def test_snapshots_outlive_their_workspace_until_nobody_keeps_them(
    snapshots: GitSnapshots, workspace: Path, home: Path, tmp_path: Path
) -> None:
    taken = await snapshots.take(workspace, "s", "one")
    shutil.rmtree(workspace)
    await snapshots.collect([taken.snapshot_id], younger_than_ms=0)
    await snapshots.write_out(workspace, taken.snapshot_id, tmp_path / "out")
    assert (tmp_path / "out" / "a").read_text() == "a\n"
    await snapshots.collect([], younger_than_ms=0)
    assert list((home / "snapshots").iterdir()) == []


async def test_a_snapshot_after_a_collection_is_whole(snapshots: GitSnapshots, workspace: Path) -> None:
    """Nothing has changed since, so nothing of it would have to be written, had it not just been removed."""
    await snapshots.take(workspace, "s", "one")
    await snapshots.collect([], younger_than_ms=0)
    taken = await snapshots.take(workspace, "s", "two")
    (workspace / "a").write_text("changed")
    await snapshots.roll_back(workspace, taken.snapshot_id, "s", "before")
    assert (workspace / "a").read_text() == "a\n"
