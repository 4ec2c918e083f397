"""The Runner: every way to a session that a program has."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack, cast

from pydantic import JsonValue

from nonoka.agents.agent import Agent
from nonoka.agents.registry import DEFAULT, Registry
from nonoka.app import open_ports, plan_request_for, request_for
from nonoka.engine import accept, accept_plan, follow
from nonoka.engine.accept import SessionRequest
from nonoka.engine.accept_plan import NO_MODEL, PlanRequest
from nonoka.engine.ports import Ports
from nonoka.errors import UnknownSession, UsageError
from nonoka.records.commit import Committed, SessionLine, Standing
from nonoka.records.event import Event
from nonoka.records.plan import Plan
from nonoka.records.runtime import RuntimeLimits
from nonoka.records.session import SessionState, SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.task import WorkerKind
from nonoka.runner.limit_options import LimitOptions, checked
from nonoka.runner.run_result import RunResult, result_of
from nonoka.runner.worker_here import WorkerHere, worker_here
from nonoka.settings import Settings, load_settings

#: Opens everything that a Runner works with, the agents of the registry in it.
Opening = Callable[[Settings, Registry], AbstractAsyncContextManager[Ports]]


def _real_ports(settings: Settings, agents: Registry) -> AbstractAsyncContextManager[Ports]:
    return open_ports(settings, agents=agents)


class Runner:
    """Opens the store by the settings of the command line; use it in ``async with``, once.

    Sessions that ``run_react`` starts are worked on in this process; it is a worker like any other, with
    a lock, a heartbeat and a recovery pass every second. Any number of sessions at once, in one event loop.
    What is still worked on when it is left is handed back, and goes on at a worker or at a ``resume``.
    """

    def __init__(
        self,
        *,
        cwd: Path | str | None = None,
        db: Path | str | None = None,
        model: str | None = None,
        agent: str | None = None,
        agents: Sequence[Agent] = (),
        settings: Settings | None = None,
        opening: Opening = _real_ports,
        own_process: bool = False,
        **limits: Unpack[LimitOptions],
    ) -> None:
        """Nothing is opened yet. Raises UsageError for what can't be.

        ``cwd`` is the sessions' workspace and where settings are looked up; ``agent`` names the one that
        None stands for. ``agents`` are found by their own names: those that a ``resume`` needs and that no
        module or file holds. ``settings`` stands for everything that isn't an agent or a limit. ``opening``
        replaces the real things that it works with. ``own_process``: the process does nothing else, so another
        worker may end it if it freezes; without it, what a frozen process holds waits until it goes on or ends.
        """
        given = {"db": db, "model": model, "agent": agent}
        if settings is None:
            settings = load_settings(Path(cwd or "").absolute(), os.environ, given)
        elif cwd is not None or any(value is not None for value in given.values()):
            raise UsageError("a Runner takes settings, or cwd, db, model and agent; not both")
        own = settings.limits.model_dump(exclude_unset=True) | checked(limits)
        self.settings = settings.model_copy(update={"limits": RuntimeLimits(**own)})
        self._opening = opening
        self._kind: WorkerKind = "run" if own_process else "embedded"
        self._agents = Registry()
        for each in agents:
            self._agents.register(each)
        self._stack = AsyncExitStack()
        self._open: tuple[Ports, WorkerHere] | None = None
        self._left = False

    async def __aenter__(self) -> Runner:
        if self._open is not None or self._left:
            raise UsageError("a Runner is entered once; make another one")
        async with AsyncExitStack() as stack:
            ports = await stack.enter_async_context(self._opening(self.settings, self._agents))
            self._open = ports, await stack.enter_async_context(worker_here(ports, self._kind))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left = True
        try:
            await self._stack.aclose()
        finally:
            self._open = None

    # --- starting and going on

    async def run_react(self, agent: Agent | str | None, prompt: str, **limits: Unpack[LimitOptions]) -> RunResult:
        """A new session, worked on here until it is answered, failed, cancelled or paused.

        Raises UsageError before anything is stored. Cancelling it hands the session back.
        """
        session_id, claimed = await self.create(agent, prompt, **limits)
        return await self.work_on(session_id, claimed)

    async def create(
        self, agent: Agent | str | None, prompt: str, **limits: Unpack[LimitOptions]
    ) -> tuple[str, Committed | None]:
        """A new session whose first turn this process has claimed: hand both to ``work_on``.

        Raises UsageError before anything is stored, also where this process can't ask the model.
        """
        ports, here = self._working()
        name = self._agents.register(agent) if isinstance(agent, Agent) else agent
        request = await self._request(name, prompt, limits)
        ports.models.check(request.model)
        return await accept.create_session(
            ports.store, ports.clock, request, claim_by=here.worker_id, worktrees=ports.worktrees
        )

    async def run_plan(
        self,
        plan: Plan,
        inputs: Mapping[str, JsonValue] | None = None,
        *,
        agent: Agent | str | None = None,
        **limits: Unpack[LimitOptions],
    ) -> RunResult:
        """A new session that runs this plan, worked on here until it has ended or is paused.

        ``agent`` has the tools that its steps may name beside the built-in ones. Raises PlanInvalid, with all that
        is wrong, before anything is stored. Cancelling it hands the session back.
        """
        session_id, claimed = await self.create_plan(plan, inputs, agent=agent, **limits)
        return await self.work_on(session_id, claimed)

    async def create_plan(
        self,
        plan: Plan,
        inputs: Mapping[str, JsonValue] | None = None,
        *,
        agent: Agent | str | None = None,
        texts: Sequence[str] = (),
        file: str | None = None,
        **limits: Unpack[LimitOptions],
    ) -> tuple[str, Committed | None]:
        """A new session whose plan this process has begun: hand both to ``work_on``.

        ``texts`` are inputs as ``name=value``, ``file`` is where the plan came from. Raises as ``run_plan``.
        """
        ports, here = self._working()
        name = self._agents.register(agent) if isinstance(agent, Agent) else agent
        request = await self._plan_request(plan, inputs, name, checked(limits), texts=texts, file=file)
        if request.model != NO_MODEL:
            ports.models.check(request.model)
        return await accept_plan.create_plan_session(ports.store, ports.clock, request, claim_by=here.worker_id)

    async def work_on(self, session_id: str, claimed: Committed | None = None) -> RunResult:
        """The session is worked on here until it is at rest, or until ``stop``."""
        _, here = self._working()
        with here.held_open():
            await here.work_on(session_id, claimed)
            return await self.result(session_id)

    async def resume(self, session_id: str) -> RunResult:
        """Take up whatever is there, here: a paused session, a failed run, or work that nobody does.

        Raises AgentUnloadable where this process hasn't got its agent, UsageError where it can't ask its
        model; the session stands as before then. One that has been answered or cancelled stays so.
        """
        ports, here = self._working()
        standing = await ports.store.standing(session_id)
        # A step whose own session has ended meanwhile is ready: by itself it doesn't take the paused plan up.
        of_a_step = all(task.kind == "step" for task in standing.live_tasks)
        taken_up_by = _TAKEN_UP_BY.get(standing.status) if standing.at_rest or of_a_step else None
        if taken_up_by is not None or not standing.at_rest:
            await self._check_workable(session_id)
        if taken_up_by is not None:
            await accept.send_signal(ports.store, session_id, taken_up_by)
        await here.sweep()
        return await self.work_on(session_id)

    async def enqueue(
        self, agent: str | None, prompt: str, *, key: str | None = None, **limits: Unpack[LimitOptions]
    ) -> str:
        """A new session for the workers; returns its id. Only agents that a worker can load.

        Where one was enqueued under this ``key`` before, its id is returned and nothing is stored.
        """
        ports, _ = self._working()
        name = _loadable_by_workers(agent or self.settings.agent)
        request = (await self._request(name, prompt, limits)).model_copy(update={"enqueue_key": key})
        return (await accept.create_session(ports.store, ports.clock, request, worktrees=ports.worktrees))[0]

    async def enqueue_plan(
        self,
        plan: Plan,
        inputs: Mapping[str, JsonValue] | None = None,
        *,
        agent: str | None = None,
        key: str | None = None,
        **limits: Unpack[LimitOptions],
    ) -> str:
        """A new session that runs this plan, for the workers; returns its id. In all else as ``enqueue``."""
        ports, _ = self._working()
        name = _loadable_by_workers(agent or self.settings.agent)
        request = await self._plan_request(plan, inputs, name, checked(limits))
        request = request.model_copy(update={"enqueue_key": key})
        return (await accept_plan.create_plan_session(ports.store, ports.clock, request))[0]

    async def send(self, session_id: str, text: str) -> None:
        """The session hears this next; one that had ended starts another run. ``resume`` works on it here."""
        if not text.strip():
            raise UsageError("the message is empty; say what is to be done")
        if (await self.ports.store.find_session(session_id)).kind == "plan":
            raise UsageError(f"session {session_id} runs a plan: it takes no message")
        await accept.send_message(self.ports.store, session_id, text)

    # --- stopping

    async def cancel_session(self, session_id: str) -> None:
        """The session ends where it is; it can take another prompt."""
        await accept.send_signal(self.ports.store, session_id, SignalKind.CANCEL)

    async def pause_session(self, session_id: str, *, now: bool = False) -> None:
        """The session stops after the call in flight, until a resume; with ``now`` that call is cut off."""
        await accept.send_signal(self.ports.store, session_id, SignalKind.PAUSE, now=now)

    async def pause_here(self, session_id: str) -> Standing:
        """The session is paused where it stands; one that another worker has pauses after its call in flight.

        Whatever else was worked on here is handed back.
        """
        await self.pause_session(session_id)
        await self.stop()
        return await self.heed(session_id)

    async def stop(self) -> None:
        """Nothing is worked on here any more: what ran is interrupted, settled and handed back."""
        await self._opened()[1].stop()

    async def heed(self, session_id: str) -> Standing:
        """A pause or cancel in the session's inbox has had its effect, unless a living worker has its task."""
        ports, here = self._opened()
        await here.heed(session_id)
        return await ports.store.standing(session_id)

    # --- looking

    async def result(self, session_id: str) -> RunResult:
        """How a session's last run stands."""
        index = await self.ports.store.find_session(session_id)
        if index.kind != "plan" or index.session_id != session_id:
            return result_of(await self.get_state(session_id))
        detail = await self.ports.store.detail(session_id)
        return result_of(detail.state, detail.plan.outputs if detail.plan is not None else None)

    async def get_state(self, session_id: str) -> SessionState:
        """The whole state of a session. Raises UnknownSession."""
        return await self.ports.store.load_session(session_id)

    async def list_sessions(self, *, limit: int = 100) -> list[SessionLine]:
        """The sessions of the store, newest first."""
        return await self.ports.store.list_sessions(limit=limit)

    async def follow(self, session_id: str, *, after_seq: int = 0) -> AsyncIterator[Event]:
        """The session's events, those to come included, until it is at rest, whoever works on it.

        Raises UnknownSession at the first one, UsageError where the Runner is left meanwhile.
        """
        ports, here = self._opened()
        events = follow.follow(ports.store, ports.clock, session_id, after_seq=after_seq)
        while (event := await here.while_open(_next(events))) is not None:
            yield event

    # ---

    @property
    def ports(self) -> Ports:
        """What it works with, for a program that looks closer than the methods above do."""
        return self._opened()[0]

    def _opened(self) -> tuple[Ports, WorkerHere]:
        if self._open is None:
            raise UsageError("a Runner is used inside `async with Runner(...) as runner:`")
        return self._open

    def _working(self) -> tuple[Ports, WorkerHere]:
        if self._left:
            raise UsageError("the Runner is being left, or has been: it takes nothing up any more")
        return self._opened()

    async def _request(self, agent: str | None, prompt: str, limits: LimitOptions) -> SessionRequest:
        given = checked(limits)
        # In a thread: it may import the agent's file, and everybody else on this loop would wait.
        return await asyncio.to_thread(request_for, self.ports, self.settings, prompt, agent=agent, limits=given)

    async def _plan_request(
        self,
        plan: Plan,
        inputs: Mapping[str, JsonValue] | None,
        agent: str | None,
        limits: dict[str, Any],
        *,
        texts: Sequence[str] = (),
        file: str | None = None,
    ) -> PlanRequest:
        return await asyncio.to_thread(
            plan_request_for,
            self.ports,
            self.settings,
            plan,
            inputs=inputs,
            texts=texts,
            agent=agent,
            limits=limits,
            file=file,
        )

    async def _check_workable(self, session_id: str) -> None:
        ports = self.ports
        index = await ports.store.find_session(session_id)
        if index.session_id != session_id:
            raise UnknownSession(session_id)
        if index.model != NO_MODEL:
            ports.models.check(index.model)
        await asyncio.to_thread(ports.agents.load, index.agent)


_TAKEN_UP_BY = {SessionStatus.PAUSED: SignalKind.RESUME, SessionStatus.FAILED: SignalKind.RETRY}


async def _next(events: AsyncIterator[Event]) -> Event | None:
    return await anext(events, None)


def _loadable_by_workers(agent: object) -> str:
    name = agent.name if isinstance(agent, Agent) else cast(str, agent)
    if isinstance(agent, Agent) or (name != DEFAULT and ":" not in name):
        raise UsageError(f"no worker can load agent {name!r}: name it MODULE:NAME or FILE.py:NAME")
    return name
