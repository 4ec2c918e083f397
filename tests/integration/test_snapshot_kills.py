"""SIGKILL inside a snapshot and inside a rollback: both repositories are sound, the next attempt completes."""

from __future__ import annotations

from pathlib import Path

from tests.support.snapshot_kills import campaign


def test_a_kill_at_any_moment_leaves_both_repositories_sound(tmp_path: Path) -> None:
    """Three moments of each at least; ``python -m tests.support.snapshot_kills 50`` is the long campaign."""
    in_snapshots, in_rollbacks = campaign(tmp_path, wanted=3, seed=8)
    assert min(in_snapshots, in_rollbacks) >= 3
