"""A plan survives the death of its process at every boundary; the boundaries are found by a run that counts."""

from __future__ import annotations

import asyncio
import functools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nonoka.decisions.conversation_rules import first_fault
from nonoka.records.commit import SessionDetail
from nonoka.records.session import SessionStatus
from tests.support.boundaries import Point
from tests.support.lives import StoreKind, Way
from tests.support.plan_lives import CHILDREN, PLAN, PlanLives, order_faults, plan_end_faults

WAYS: list[tuple[StoreKind, Way]] = [
    ("sqlite", "run"),
    ("sqlite", "worker"),
    ("memory", "run"),
    ("memory", "worker"),
]

PLANS = {plan.name: plan for plan in (PLAN, CHILDREN)}
#: Each so many-th point is enough for every run; with 1, which takes minutes, they are all met.
STRIDE = {"sqlite": 20, "memory": 10}


@functools.cache
def undisturbed(store: StoreKind, way: Way, plan: str) -> tuple[SessionDetail, list[Point]]:
    """The plan as it ends without a death, and every point that was passed on the way."""

    async def run() -> tuple[SessionDetail, list[Point]]:
        with tempfile.TemporaryDirectory() as directory:
            lives = PlanLives(Path(directory), store, way, PLANS[plan])
            boundaries = await lives.live()
            assert not lives.faults
            return await lives.detail(), boundaries.passed

    return asyncio.run(run())


async def survive(
    store: StoreKind, way: Way, deaths: list[Point | int], plan: str = "crash"
) -> tuple[list[str], list[bool]]:
    """Processes die at these points, one after another, and another ends the work; the faults, and who died."""
    with tempfile.TemporaryDirectory() as directory:
        lives = PlanLives(Path(directory), store, way, PLANS[plan])
        died = [(await lives.live(at)).dead for at in deaths]
        await lives.live()
        found = await lives.detail()
        faults = [*lives.faults, *plan_end_faults(found, undisturbed(store, way, plan)[0]), *order_faults(found)]
        faults += [
            f"{kid.index.session_id}: {fault}" for kid in await lives.children() for fault in _child_faults(kid)
        ]
        faults += [*lives.machine.overlaps, *lives.machine.commands]
    return [f"{[str(death) for death in deaths]}: {fault}" for fault in faults], died


@pytest.mark.parametrize(("store", "way"), WAYS)
def test_a_plan_survives_a_death_at_any_boundary(store: StoreKind, way: Way) -> None:
    """No completed step runs again, and everything ends as undisturbed, at each of these points in turn."""
    assert len(undisturbed(store, way, "crash")[1]) > 150
    points = undisturbed(store, way, "crash")[1][:: STRIDE[store]]
    died = [_survived(store, way, point) for point in points]
    # Steps run side by side: which call of a port is the n-th is not quite the same each time.
    assert sum(died) > 0.7 * len(points)


@pytest.mark.parametrize(("store", "way"), WAYS)
def test_a_plan_and_the_sessions_of_its_steps_survive_together(store: StoreKind, way: Way) -> None:
    """Each step has one session, whichever of the two dies, and takes what that one brought."""
    points = undisturbed(store, way, "children")[1][5 :: STRIDE[store]]
    assert sum(_survived(store, way, point, "children") for point in points) > 0.7 * len(points)


def _survived(store: StoreKind, way: Way, point: Point, plan: str = "crash") -> bool:
    faults, died = asyncio.run(survive(store, way, [point], plan))
    assert faults == []
    return died[0]


def _child_faults(child: SessionDetail) -> list[str]:
    fault = first_fault(child.state.memory_entries)
    ended = child.state.status is SessionStatus.COMPLETED
    return [*([fault] if fault else []), *([] if ended else [f"it is {child.state.status}"])]


@pytest.mark.parametrize(("store", "way"), WAYS)
@settings(max_examples=5, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_plan_survives_deaths_upon_deaths(store: StoreKind, way: Way, data: st.DataObject) -> None:
    """Those who recover it die as well, in the middle of settling too; fewer than five, so no step is given up."""
    first = data.draw(st.integers(0, len(undisturbed(store, way, "crash")[1]) - 1))
    later = data.draw(st.lists(st.integers(0, 120), min_size=1, max_size=3))
    faults, _ = asyncio.run(survive(store, way, [first, *later]))
    assert faults == []
