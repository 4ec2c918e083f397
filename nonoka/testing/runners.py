"""Runners over a store in a test's own directory: one that lives, and one that dies where the test says."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from nonoka.agents.agent import Agent
from nonoka.agents.registry import Registry
from nonoka.engine.ports import Ports
from nonoka.ports.clock import Clock
from nonoka.ports.store import Store
from nonoka.records.event import EventType
from nonoka.runner import Runner
from nonoka.settings import Settings
from nonoka.testing.boundaries import Boundaries, Died
from nonoka.testing.played import played_ports
from nonoka.testing.points import Point
from nonoka.testing.scripted_model import ScriptedModel


@asynccontextmanager
async def runner(
    directory: Path,
    model: ScriptedModel | None = None,
    *,
    agents: Sequence[Agent] = (),
    clock: Clock | None = None,
    store: Store | None = None,
) -> AsyncIterator[Runner]:
    """A Runner whose workspace is this directory, and whose store lies in its ``.nonoka``, whatever is set.

    The next one over the same directory finds what this one left. ``model`` answers every session here,
    and no other model can be asked; a session goes on with the one of its script. ``clock`` may be a
    ManualClock, and ``store`` a MemoryStore, made with that clock, which outlives the Runner.
    """
    async with _made(directory, model, agents, clock, store, Boundaries(None)) as made:
        yield made


@asynccontextmanager
async def crashing_runner(
    directory: Path,
    model: ScriptedModel | None = None,
    *,
    at: Point | str,
    agents: Sequence[Agent] = (),
    clock: Clock | None = None,
    store: Store | None = None,
) -> AsyncIterator[Runner]:
    """A ``runner`` whose process dies at a point, such as ``"before call_finished"`` (docs/python.md).

    The block ends there, nothing is handed back, and the test goes on after it. AssertionError where the
    block ends without coming there. A played death: tools and commands under way are ended by this very
    process, and only what they did until then is as after a real one.
    """
    boundaries = Boundaries(None)
    point = Point.parsed(at) if isinstance(at, str) else at
    async with _surviving(), _made(directory, model, agents, clock, store, boundaries) as made:
        boundaries.count_from_here(point)
        yield made
    if not boundaries.dead:
        told = ", ".join(map(str, boundaries.told)) or "nothing"
        raise AssertionError(f"the process was to die {str(point)!r} and never came there; it passed: {told}")


async def points_of(agent: Agent, prompt: str, model: ScriptedModel) -> list[Point]:
    """Every point before and after an event of a session, once that session is stored.

    The session is run once for that, undisturbed and in a directory of its own.
    """
    boundaries = Boundaries(None)
    with tempfile.TemporaryDirectory() as name:
        opened = _made(Path(name), ScriptedModel(model.responses), (), None, None, boundaries)
        async with opened as made:
            await made.run_react(agent, prompt)
    # How a text is cut into pieces depends on how fast the machine is.
    told = [point for point in boundaries.told if point.name != EventType.TEXT_STREAMED]
    return told[told.index(Point("after", EventType.SESSION_CREATED)) :]


def _made(
    directory: Path,
    model: ScriptedModel | None,
    agents: Sequence[Agent],
    clock: Clock | None,
    store: Store | None,
    boundaries: Boundaries,
) -> Runner:
    directory = directory.absolute()
    home = directory / ".nonoka"
    settings = Settings(
        cwd=directory,
        db=home / "sessions.db",
        model=model.written_to(home / "script.json") if model else None,
    )

    def opening(settings: Settings, registry: Registry) -> AbstractAsyncContextManager[Ports]:
        return played_ports(settings, registry, model or ScriptedModel(), clock, store, boundaries)

    return Runner(settings=settings, agents=agents, opening=opening)


@asynccontextmanager
async def _surviving() -> AsyncIterator[None]:
    # A death may come alone, or in a group with what else went wrong in the block.
    try:
        yield
    except* Died:
        pass
