"""A session survives the death of its process at every boundary; the boundaries are found by a run that counts."""

from __future__ import annotations

import asyncio
import functools
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nonoka.records.commit import SessionDetail
from tests.support.boundaries import Point
from tests.support.crash_laws import end_faults
from tests.support.lives import Lives, StoreKind, Way

#: so many parts the points of a way are tried in, each a test
SHARDS = 4
WAYS: list[tuple[StoreKind, Way]] = [
    ("sqlite", "worker"),
    ("sqlite", "run"),
    ("memory", "worker"),
    ("memory", "run"),
]


@functools.cache
def undisturbed(store: StoreKind, way: Way) -> tuple[SessionDetail, list[Point]]:
    """The session as it ends without a death, and every point that was passed on the way."""

    async def run() -> tuple[SessionDetail, list[Point]]:
        with tempfile.TemporaryDirectory() as directory:
            lives = Lives(Path(directory), store, way)
            boundaries = await lives.live()
            assert not lives.faults
            return await lives.detail(), boundaries.passed

    return asyncio.run(run())


async def survive(directory: Path, store: StoreKind, way: Way, deaths: list[Point | int]) -> list[bool]:
    """Processes die at these points, one after another, and another one ends the work; whether each died."""
    lives = Lives(directory, store, way)
    died = [(await lives.live(at)).dead for at in deaths]
    await lives.live()
    assert lives.faults == []
    assert end_faults(await lives.detail(), undisturbed(store, way)[0]) == []
    assert lives.machine.overlaps == []
    assert lives.machine.commands == set()
    assert (lives.workspace / "notes.txt").read_text() == "a hall, an attic"
    return died


@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize(("store", "way"), WAYS)
def test_a_session_survives_a_death_at_any_boundary(store: StoreKind, way: Way, shard: int) -> None:
    """No prompt, answer or result is lost; nothing committed is done again; the end is as undisturbed."""
    points = undisturbed(store, way)[1][shard::SHARDS]
    assert len(points) > 10
    for point in points:
        with tempfile.TemporaryDirectory() as directory:
            assert asyncio.run(survive(Path(directory), store, way, [point])) == [True], str(point)


@pytest.mark.parametrize(("store", "way"), WAYS)
def test_the_boundaries_that_are_counted_are_all_there(store: StoreKind, way: Way) -> None:
    """The matrix is as large as the session: an empty one would prove nothing."""
    passed = Counter((point.when, point.name) for point in undisturbed(store, way)[1])
    names = {name for _, name in passed}
    assert names >= {
        "store.register_worker",
        "store.create_session",
        "store.running_claims",
        "store.commit",
        "store.conversation",
        "store.mark_due" if way == "worker" else "store.standing",
        "broker.send",
        "models.get",
        "model.respond",
        "processes.register",
        "processes.start",
        "command.finished",
        "artifacts.keep",
    } - ({"broker.send"} if way == "run" else set())
    assert passed["inside", "store.commit"] >= 14
    for name in names:
        assert passed["before", name] == passed["after", name]


@pytest.mark.parametrize(("store", "way"), WAYS)
@settings(max_examples=30, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_session_survives_deaths_upon_deaths(store: StoreKind, way: Way, data: st.DataObject) -> None:
    """Those who recover it die as well, in the middle of settling too; fewer than five, so it isn't given up."""
    first = data.draw(st.integers(0, len(undisturbed(store, way)[1]) - 1))
    later = data.draw(st.lists(st.integers(0, 60), min_size=1, max_size=3))
    with tempfile.TemporaryDirectory() as directory:
        died = asyncio.run(survive(Path(directory), store, way, [first, *later]))
    assert died[0]
