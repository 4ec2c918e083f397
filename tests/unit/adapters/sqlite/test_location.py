"""Where a store may lie."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nonoka.adapters.sqlite import location
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.errors import StoreError
from tests.support.manual_clock import ManualClock

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / {home}/nfs rw,relatime shared:2 - nfs4 server:/export rw
24 22 0:22 / {home}/with\\040space rw,relatime - fuse.sshfs me@there: rw
25 23 0:23 / {home}/nfs/local rw,relatime - xfs /dev/vdb rw
"""


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This machine has a server's disk mounted, and a disk of its own inside that."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS.format(home=tmp_path))
    monkeypatch.setattr(location, "MOUNTS", str(mounts))
    return tmp_path


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("nfs/p", "nfs4"),
        ("with space/p", "fuse.sshfs"),
        ("nfs/local/p", "xfs"),
        ("nfsish/p", "ext4"),
        ("p", "ext4"),
    ],
)
def test_a_path_is_on_the_innermost_file_system_mounted_above_it(mounted: Path, place: str, kind: str) -> None:
    assert location.filesystem_of(mounted / place) == kind


async def test_a_file_system_where_locks_do_not_hold_is_refused_by_name_and_nothing_is_made(mounted: Path) -> None:
    for place, kind in [("nfs", "nfs4"), ("with space", "fuse.sshfs")]:
        file = mounted / place / "sessions.db"
        with pytest.raises(
            StoreError, match=re.escape(f"on a {kind} file system, where SQLite's locks don't hold")
        ):
            await SqliteStore.open(file, ManualClock())
        assert not made(file)


def made(file: Path) -> bool:
    return file.parent.exists()
