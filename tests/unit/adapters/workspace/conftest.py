"""A workspace, and snapshots of it by a clock that the test moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from nonoka.adapters.workspace import GitSnapshots
from nonoka.testing.manual_clock import ManualClock
from tests.support.trees import git


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A repository with one commit."""
    directory = tmp_path / "workspace"
    directory.mkdir()
    (directory / "a").write_text("a\n")
    git(directory, "init", "--quiet", "--initial-branch=main")
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--message", "one")
    return directory


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def snapshots(home: Path, clock: ManualClock) -> GitSnapshots:
    return GitSnapshots(home, clock, max_file_bytes=1000)
