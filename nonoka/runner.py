"""The Python face: sessions from a program, worked on here or by workers elsewhere."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from nonoka.agents.agent import Agent
from nonoka.agents.registry import Registry
from nonoka.app import WorkerParts, as_worker, open_ports, request_for
from nonoka.decisions.final_answer import final_answer
from nonoka.engine import accept, follow
from nonoka.engine.accept import SessionRequest
from nonoka.engine.drive import drive
from nonoka.engine.ports import Ports
from nonoka.errors import UsageError
from nonoka.records.base import Record
from nonoka.records.commit import Claim, Committed, Standing
from nonoka.records.event import Event
from nonoka.records.runtime import RuntimeUsage, Termination
from nonoka.records.session import SessionState, SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.task import session_of
from nonoka.settings import Settings, load_settings

#: Between two tries to stop what is worked on here.
STOP_AGAIN_S = 0.1


class RunResult(Record):
    """How a run stands when nothing is left to do: ``data`` is the final answer, ``error`` why there is none."""

    session_id: str
    status: SessionStatus
    data: str | None = None
    error: Termination | None = None
    usage: RuntimeUsage = RuntimeUsage()


class Runner:
    """Opens the store by the settings of the command line; use it in ``async with``.

    Sessions that ``run_react`` starts are worked on in this process; it is a worker like any other, with
    a lock, a heartbeat and a recovery pass every second.
    """

    def __init__(self, *, settings: Settings | None = None, **options: object) -> None:
        """``options`` are settings by name (``db``, ``model``, ``agent``, limits). Raises UsageError."""
        self.settings = settings or load_settings(Path.cwd(), os.environ, options)
        self._agents = Registry()
        self._stack = AsyncExitStack()
        self._open: tuple[Ports, WorkerParts] | None = None
        #: the heartbeat and the recovery passes
        self._beside: list[asyncio.Task[None]] = []
        #: the asyncio tasks that work on a session here, and those among them that were asked to stop
        self._works: set[asyncio.Task[Standing]] = set()
        self._stopped: set[asyncio.Task[Standing]] = set()

    async def __aenter__(self) -> Runner:
        ports = await self._stack.enter_async_context(open_ports(self.settings, agents=self._agents))
        parts = await self._stack.enter_async_context(as_worker(ports, "run", stay=True))
        self._open = ports, parts
        self._stack.push_async_callback(self._stop_beside)
        self._beside = [
            asyncio.create_task(parts.keeper.keep()),
            asyncio.create_task(parts.sweeper.sweep_forever()),
        ]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open = None
        await self._stack.aclose()

    # --- starting and going on

    async def run_react(self, agent: Agent | str | None, prompt: str, **limits: Any) -> RunResult:
        """A new session, worked on here until it is answered, failed, cancelled or paused."""
        session_id, claimed = await self.create(agent, prompt, **limits)
        return await self.work_on(session_id, claimed)

    async def create(self, agent: Agent | str | None, prompt: str, **limits: Any) -> tuple[str, Committed | None]:
        """A new session whose first turn this process has claimed: hand both to ``work_on``.

        Raises UsageError before anything is stored, also where this process can't ask the model.
        """
        ports, parts = self._opened()
        request = await self._request(agent, prompt, limits)
        ports.models.check(request.model)
        return await accept.create_session(ports.store, ports.clock, request, claim_by=parts.worker.worker_id)

    async def work_on(self, session_id: str, claimed: Committed | None = None) -> RunResult:
        """The session is worked on here until it is at rest, or until ``stop``."""
        ports, parts = self._opened()
        work = asyncio.create_task(drive(ports, parts.tasks, session_id, claimed=claimed))
        self._works.add(work)
        try:
            await self._while_alive(work)
        except asyncio.CancelledError:
            if work not in self._stopped:
                raise
        finally:
            self._works.discard(work)
            self._stopped.discard(work)
        return await self.result(session_id)

    async def stop(self) -> None:
        """Nothing is worked on here any more: what ran is interrupted, settled and handed back."""
        _, parts = self._opened()
        works = set(self._works)
        self._stopped |= works
        while works:
            parts.running.interrupt_all()
            for work in works - {running.work for running in parts.running}:
                work.cancel()
            # Again and again: one whose claim was lost heeds no interrupt, and goes on looking for the next.
            _, works = await asyncio.wait(works, timeout=STOP_AGAIN_S)
        await self._hand_back_rest(parts)

    async def pause_here(self, session_id: str) -> Standing:
        """The session is paused where it stands; one that another worker has pauses after its call in flight."""
        await self.pause_session(session_id)
        await self.stop()
        return await self.heed(session_id)

    async def heed(self, session_id: str) -> Standing:
        """A pause or cancel in the session's inbox has had its effect, unless a living worker has its task."""
        ports, parts = self._opened()

        async def claim_it() -> None:
            if not await parts.tasks.run_due(session_id=session_id):
                await parts.sweeper.sweep()
                await parts.tasks.run_due(session_id=session_id)

        await self._while_alive(asyncio.create_task(claim_it()))
        return await ports.store.standing(session_id)

    async def enqueue(self, agent: Agent | str | None, prompt: str, **limits: Any) -> str:
        """A new session for the workers; returns its id. Only agents that a worker can load."""
        ports, _ = self._opened()
        if isinstance(agent, Agent):
            raise UsageError(
                f"agent {agent.name!r} exists only in this program: name it MODULE:NAME or FILE.py:NAME"
            )
        request = await self._request(agent, prompt, limits)
        return (await accept.create_session(ports.store, ports.clock, request))[0]

    async def send(self, session_id: str, text: str) -> None:
        """The session hears this next; one that had ended starts another run."""
        await accept.send_message(self._opened()[0].store, session_id, text)

    async def resume(self, session_id: str) -> RunResult:
        """Take up whatever is there, here: a paused session, a failed run, or work that nobody does."""
        ports, _ = self._opened()
        standing = await ports.store.standing(session_id)
        if standing.status is SessionStatus.PAUSED:
            await accept.send_signal(ports.store, session_id, SignalKind.RESUME)
        elif standing.status is SessionStatus.FAILED and standing.at_rest:
            await accept.send_signal(ports.store, session_id, SignalKind.RETRY)
        return await self.work_on(session_id)

    async def cancel_session(self, session_id: str) -> None:
        """The session ends where it is; it can take another prompt."""
        await accept.send_signal(self._opened()[0].store, session_id, SignalKind.CANCEL)

    async def pause_session(self, session_id: str) -> None:
        """The session stops after the call in flight, until a resume."""
        await accept.send_signal(self._opened()[0].store, session_id, SignalKind.PAUSE)

    # --- looking

    async def get_state(self, session_id: str) -> SessionState:
        """The whole state of a session."""
        return await self._opened()[0].store.load_session(session_id)

    def follow(self, session_id: str, *, after_seq: int = 0) -> AsyncIterator[Event]:
        """The session's events, those to come included, until it is at rest."""
        ports, _ = self._opened()
        return follow.follow(ports.store, ports.clock, session_id, after_seq=after_seq)

    async def result(self, session_id: str) -> RunResult:
        """How a session's last run stands."""
        state = await self.get_state(session_id)
        ended = state.runtime_state.termination
        return RunResult(
            session_id=session_id,
            status=state.status,
            data=final_answer(state),
            error=ended if ended is not None and ended.error_type else None,
            usage=state.runtime_state.session_usage,
        )

    # ---

    @property
    def ports(self) -> Ports:
        """What it works with, for a program that looks closer than the methods above do."""
        return self._opened()[0]

    def _opened(self) -> tuple[Ports, WorkerParts]:
        if self._open is None:
            raise UsageError("a Runner is used inside `async with Runner(...) as runner:`")
        return self._open

    async def _request(self, agent: Agent | str | None, prompt: str, limits: dict[str, Any]) -> SessionRequest:
        ports, _ = self._opened()
        name = self._agents.register(agent) if isinstance(agent, Agent) else (agent or self.settings.agent)
        return request_for(ports, self.settings, prompt, agent=name, limits=limits)

    async def _while_alive(self, work: asyncio.Task[Any]) -> None:
        """Wait for the work. Raises what it raises, or what ended the heartbeat: nothing goes on without one."""
        try:
            await asyncio.wait([work, *self._beside], return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                for ended in [task for task in self._beside if task.done()]:
                    ended.result()
            await work
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _stop_beside(self) -> None:
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)

    async def _hand_back_rest(self, parts: WorkerParts) -> None:
        # A claim may have been committed in the very moment in which its work was stopped.
        worker_id = parts.worker.worker_id
        for task_id, fence in (await self._opened()[0].store.renew(worker_id)).items():
            session_id = session_of(task_id)
            claim = Claim(task_id=task_id, session_id=session_id, worker_id=worker_id, fence=fence)
            await parts.tasks.hand_back(claim)
