"""The same boundaries in real workers that kill themselves with SIGKILL, over a real file and real commands.

Every point that a session's tasks pass, and the first of each that the heartbeat, sweeper and feeder pass by the
clock. (In-process, with more of them and in pairs: test_every_boundary.py.)
"""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from nonoka.records.commit import SessionDetail
from tests.support.boundaries import Point
from tests.support.crash_agent import TURNS
from tests.support.crash_laws import Stand, end_faults, life_faults, stand_of
from tests.support.project import OURS, Project

#: so many projects at a time: a worker's start is most of what a point costs
SIDE_BY_SIDE = 4
SHARDS = 6
#: passed as often as the session's tasks need; as nobody else waits, each next turn is claimed in the commit that
#: ends the one before, and nothing is sent (test_every_boundary.py has the other way)
BY_TASKS = (
    "store.claim",
    "store.commit",
    "store.conversation",
    "models.get",
    "model.respond",
    "processes.start",
    "command.finished",
    "artifacts.keep",
    "snapshots.take",
    "workspace_use.announce",
    "workspace_use.others",
    "workspace_use.withdraw",
)
#: passed by the clock
BY_CLOCK = (
    "processes.register",
    "store.register_worker",
    "store.mark_due",
    "store.renew",
    "store.running_claims",
    "store.repair_taskless",
    "store.free_workspaces",
    "store.workers",
)
#: passed by those who recover what a worker left at ``before command.finished 1``
BY_SWEEPERS = [
    "before processes.liveness 1",
    "before store.take_over 1",
    "after store.take_over 1",
    "before processes.end 1",
    "after processes.end 1",
    "before snapshots.roll_back 1",
    "after snapshots.roll_back 1",
    "before store.commit 1",
    "inside store.commit 1",
    "after store.commit 1",
    "after broker.send 1",
    "before store.remove_worker 1",
    "after store.remove_worker 1",
]


@dataclass(frozen=True)
class Undisturbed:
    """How the session ends where nobody dies, and the points on the way."""

    detail: SessionDetail
    points: list[Point]
    tree: dict[str, tuple[int, bytes]]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return asyncio.run(_undisturbed(tmp_path_factory.mktemp("undisturbed")))


async def _undisturbed(directory: Path) -> Undisturbed:
    project, listed = Project(directory / "project"), directory / "points"
    session_id = await project.create(TURNS)
    with project.worker(OURS, points=listed) as worker:
        await project.all_completed()
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
    passed = [Point.parsed(line) for line in listed.read_text().splitlines()]
    points = [p for p in passed if p.name in BY_TASKS or (p.name in BY_CLOCK and p.ordinal == 1)]
    assert {point.name for point in points} == {*BY_TASKS, *BY_CLOCK}
    return Undisturbed(await project.detail(session_id), points, project.tree())


async def faults_after(directory: Path, deaths: list[Point], undisturbed: Undisturbed) -> list[str]:
    """Workers kill themselves at these points, one after another, and another one ends the work."""
    project = Project(directory)
    session_id = await project.create(TURNS)
    before, faults = Stand(), []

    async def judge() -> None:
        nonlocal before, faults
        async with project.store() as store:
            after = await stand_of(store, project.oracle, session_id)
        faults += life_faults(before, after, project.oracle)
        before = after

    for point in deaths:
        with project.worker(OURS, at=point) as worker:
            await project.until(lambda worker=worker: worker.poll() is not None, f"a death at {point}", 30)
        assert worker.returncode == -signal.SIGKILL
        await judge()
    with project.worker(OURS):
        await project.all_completed()
    await judge()
    faults += end_faults(await project.detail(session_id), undisturbed.detail)
    if project.tree() != undisturbed.tree:
        faults.append(f"its workspace is another: {project.tree()}")
    await project.until(lambda: not project.left_over(session_id), "no process of its calls lives")
    return faults


@pytest.mark.parametrize("shard", range(SHARDS))
async def test_a_session_survives_sigkill_at_any_boundary(
    tmp_path: Path, undisturbed: Undisturbed, shard: int
) -> None:
    """No prompt, answer or result is lost; nothing committed is done again; no command's process is left."""
    points = undisturbed.points[shard::SHARDS]
    assert len(points) > 10
    room = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(point: Point) -> list[str]:
        async with room:
            directory = tmp_path / str(point).replace(" ", "-")
            return [f"{point}: {fault}" for fault in await faults_after(directory, [point], undisturbed)]

    found = await asyncio.gather(*(one(point) for point in points))
    assert [fault for faults in found for fault in faults] == []


@pytest.mark.parametrize("shard", range(2))
async def test_a_session_survives_the_death_of_those_who_recover_it(
    tmp_path: Path, undisturbed: Undisturbed, shard: int
) -> None:
    """A sweeper that dies at any point of settling leaves what another one settles."""
    left = Point.parsed("before command.finished 1")

    async def one(point: str) -> list[str]:
        directory = tmp_path / point.replace(" ", "-")
        deaths = [left, Point.parsed(point)]
        return [f"{point}: {fault}" for fault in await faults_after(directory, deaths, undisturbed)]

    found = await asyncio.gather(*(one(point) for point in BY_SWEEPERS[shard::2]))
    assert [fault for faults in found for fault in faults] == []


async def test_what_a_killed_worker_left_running_is_ended_before_the_replay(project: Project) -> None:
    """The command and what it put into the background outlive their worker, and not the recovery."""
    session_id = await project.create(TURNS)
    with project.worker(OURS, at=Point("before", "command.finished", 1)) as worker:
        await project.until(lambda: worker.poll() is not None, "the worker dies")
    await project.until(lambda: len(project.left_over(session_id)) >= 1, "the command outlives it")
    with project.worker(OURS):
        await project.all_completed()
    builds = [ran for ran in project.oracle.ran(session_id) if ran.tool_call_id == "call_2_0"]
    assert [(ran.attempt, ran.left_over) for ran in builds] == [(1, 0), (2, 0)]
    assert project.left_over(session_id) == []
