"""Sessions come in on the workers of the real supervisor while those are killed at random moments."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.brokers import project_on
from tests.support.kills import campaign


@pytest.mark.parametrize(("broker", "kills"), [("in-process", 20), ("redis", 10)])
async def test_all_sessions_complete_whatever_is_killed(tmp_path: Path, broker: str, kills: int) -> None:
    """By the oracle no call ran again once its result was committed, and no attempt ran twice.

    benchmarks/random_kills.py is the same with 200 kills over 50 sessions.
    """
    with project_on(broker, tmp_path) as project:
        found = await campaign(project, random.Random(20261201), sessions=5 + kills, kills=kills, turns=6)
    assert found.lost == []
    assert found.repeated == []
    assert found.releases >= kills // 4, "the kills met hardly any work"
