"""Collections killed at any moment: what is kept is whole, and the next one leaves nothing over."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.gc_kills import campaign

#: By hand more: ``GC_KILLS=100 pytest tests/crash/test_collections_survive.py``.
KILLS = int(os.environ.get("GC_KILLS", "4"))


async def test_a_collection_killed_at_any_moment_loses_nothing_that_is_kept(tmp_path: Path) -> None:
    """Store, repositories, snapshots, kept results, branches; after an undisturbed one there is nothing else."""
    assert await campaign(tmp_path, KILLS, seed=20261201) >= KILLS
