"""Plans in real workers that are killed with SIGKILL: wide layers, a large fan-out, sessions of their own."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from nonoka.adapters.clock import SystemClock
from nonoka.engine.accept_plan import NO_MODEL, create_plan_session
from nonoka.records.commit import SessionDetail
from nonoka.records.plan import Plan, Step
from nonoka.records.session import SessionStatus
from tests.support import crash_agent
from tests.support.boundaries import Point
from tests.support.plan_lives import order_faults, plan_life_faults, plan_request
from tests.support.project import OURS, PLAIN, Project

AGENT = f"{crash_agent.__file__}:agent"
WIDE = Plan(
    name="wide",
    steps=(
        Step(id="start", tool="look", args={"place": "hall"}),
        *(Step(id=f"w{n}", tool="post", args={"text": f"{n} ${{start}}"}) for n in range(16)),
        Step(id="end", tool="post", args={"text": "${w0} ${w15}"}, depends_on=tuple(f"w{n}" for n in range(16))),
    ),
)
MANY = Plan(
    name="many",
    steps=(
        Step(id="each", tool="post", args={"text": "${item}"}, for_each=[str(n) for n in range(200)]),
        Step(id="end", tool="post", args={"text": "${each[199]}"}),
    ),
)
KID = Plan(
    name="kid",
    steps=(Step(id="kid", agent=AGENT, task="look"), Step(id="end", tool="post", args={"text": "${kid}"})),
)


async def planned(project: Project, plan: Plan, model: str = NO_MODEL) -> str:
    """A session that runs this plan is stored; returns its id."""
    async with project.store() as store:
        request = plan_request(plan, AGENT, project.workspace, model)
        return (await create_plan_session(store, SystemClock(), request))[0]


def results(detail: SessionDetail) -> dict[str, object]:
    """What each step and item brought."""
    assert detail.plan is not None
    return dict(detail.plan.results)


async def die_at(project: Project, point: str) -> None:
    """A worker works until it kills itself at this point."""
    with project.worker(OURS, at=Point.parsed(point)) as worker:
        await project.until(lambda: worker.poll() is not None, f"a death at {point}", 30)
    assert worker.returncode == -signal.SIGKILL


@pytest.mark.parametrize("seed", range(3))
async def test_of_steps_that_end_in_one_moment_none_runs_again(project: Project, seed: int) -> None:
    """Killed amid the ends of 16 steps: the join waits for all of them, and each result is what it was."""
    draw = random.Random(seed)
    session_id = await planned(project, WIDE)
    before, seen, faults = None, 0, []
    for point in (f"after store.commit {draw.randint(8, 26)}", f"inside store.commit {draw.randint(3, 9)}"):
        await die_at(project, point)
        after = await project.detail(session_id)
        faults += plan_life_faults(before, after, project.oracle, seen)
        before, seen = after, len(project.oracle.ran(session_id))
    with project.worker(OURS):
        await project.all_completed()
    found = await project.detail(session_id)
    faults += plan_life_faults(before, found, project.oracle, seen) + order_faults(found)
    assert faults == []
    assert results(found)["plan:1/step:w7"] == "posted 7 the hall is empty"
    assert results(found)["plan:1/step:end"] == "posted posted 0 the hall is empty posted 15 the hall is empty"


async def test_a_fan_out_of_200_survives_kills_at_random(project: Project) -> None:
    """Each item is done, its result in its place, and what was committed of it never again."""
    draw = random.Random(7)
    session_id = await planned(project, MANY)
    before, seen, faults = None, 0, []
    for _ in range(4):
        await die_at(project, f"{draw.choice(['before', 'inside', 'after'])} store.commit {draw.randint(20, 120)}")
        after = await project.detail(session_id)
        faults += plan_life_faults(before, after, project.oracle, seen)
        before, seen = after, len(project.oracle.ran(session_id))
    with project.worker(PLAIN), project.worker(PLAIN):
        await project.all_completed()
    found = await project.detail(session_id)
    faults += plan_life_faults(before, found, project.oracle, seen)
    assert faults == []
    assert found.plan is not None
    assert [results(found)[f"plan:1/step:each/item:{n}"] for n in range(200)] == [
        f"posted {n}" for n in range(200)
    ]
    assert results(found)["plan:1/step:end"] == "posted posted 199"


async def test_a_steps_session_is_made_once_and_its_end_is_heard(project: Project, tmp_path: Path) -> None:
    """Killed right after the child is stored, and right after it has ended."""
    model = crash_agent.write_script(tmp_path / "kid.yaml", [{"text": "seen"}])
    session_id = await planned(project, KID, model)
    await die_at(project, "after step_started 1")
    await die_at(project, "after session_completed 1")
    with project.worker(OURS):
        await project.all_completed()
    assert results(await project.detail(session_id))["plan:1/step:end"] == "posted seen"
    async with project.store() as store:
        lines = await store.list_sessions(limit=10)
    assert [line.index.parent for line in lines if line.index.kind == "react"] == [session_id]
    assert (await project.detail(session_id)).state.status is SessionStatus.COMPLETED
