"""Stores that share a disk see each other's marks, and take no notice of stale ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nonoka.adapters.workspace import MarkedUse
from tests.support.trees import git, tree_of


@pytest.fixture
def other(tmp_path: Path) -> Path:
    file = tmp_path / "other.db"
    file.write_bytes(b"")
    return file


@pytest.mark.parametrize("where", ["", "..", "inner/most"])
async def test_another_stores_session_is_seen_here_above_and_below(
    where: str, workspace: Path, tmp_path: Path, other: Path
) -> None:
    marked = (workspace / where).resolve()
    marked.mkdir(parents=True, exist_ok=True)
    theirs = MarkedUse(other, "theirs", lambda _store, _session: False)
    mine = MarkedUse(tmp_path / "mine.db", "mine", lambda store, session: (store, session) == (other, "their-1"))
    await theirs.announce(marked, "their-1")
    said = await mine.others(workspace)
    assert said is not None
    assert "their-1" in said
    assert str(other) in said
    assert await theirs.others(workspace) is None
    await theirs.withdraw(marked, "their-1")
    assert await mine.others(workspace) is None


async def test_a_stale_mark_is_removed(workspace: Path, tmp_path: Path, other: Path) -> None:
    """Its store no longer holds the workspace, or is gone: then nobody is asked."""
    theirs = MarkedUse(other, "theirs", lambda _store, _session: True)
    await theirs.announce(workspace, "their-1")
    mine = MarkedUse(tmp_path / "mine.db", "mine", lambda _store, _session: False)
    assert await mine.others(workspace) is None
    assert not any(b"their-1" in path for path in tree_of(workspace, without=(b".git",)))
    await theirs.announce(workspace, "their-2")
    os.unlink(other)
    believer = MarkedUse(tmp_path / "mine.db", "mine", lambda _store, _session: True)
    assert await believer.others(workspace) is None


async def test_a_mark_shows_in_nobodys_status(workspace: Path, other: Path) -> None:
    await MarkedUse(other, "theirs", lambda _store, _session: True).announce(workspace, "their-1")
    assert git(workspace, "status", "--porcelain") == ""
