"""A task's way through this process: claim, run, and whatever ends it other than its own last commit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any

from nonoka.agents.agent import Agent
from nonoka.decisions import retry, task_kinds
from nonoka.decisions.turn import Failure
from nonoka.engine.deciding import deciding
from nonoka.engine.ports import Ports
from nonoka.engine.rollback import complete_begun
from nonoka.engine.running import Running, RunningTask
from nonoka.engine.settle import settle
from nonoka.engine.solitude import Solitude
from nonoka.engine.step import StepRunner
from nonoka.engine.turn import TurnRunner
from nonoka.engine.unloadable import UnloadableAgents
from nonoka.engine.workspace import after_commit
from nonoka.errors import AgentUnloadable, ClaimLost, NonokaError, StoreError, WorkerUnfit
from nonoka.ports.store import ANY_DEATHS
from nonoka.records.commit import Changes, Claim, Committed, SessionView
from nonoka.records.task import task_id_of

log = logging.getLogger(__name__)


class TaskRunner:
    """Runs tasks as one worker.

    With ``stay`` it goes on with a session's next turn by itself, claimed in the transaction that ends the
    one before; else it sends that turn and returns. With ``give_way`` it goes on as long as nobody else waits.
    """

    def __init__(
        self, ports: Ports, worker_id: str, running: Running, *, stay: bool = False, give_way: bool = False
    ) -> None:
        self._ports = ports
        self._worker_id = worker_id
        self._running = running
        self._stay = stay
        self._turns = TurnRunner(ports, stay=stay, give_way=give_way)
        self._steps = StepRunner(ports)
        self._solitude = Solitude()
        self.unloadable = UnloadableAgents(ports.clock)

    def stop_staying(self) -> None:
        """This process is about to stop: the next turn of what runs is left to others."""
        self._turns.stop_staying()

    async def run_due(self, task_id: str | None = None, *, session_id: str | None = None, deaths: int = 0) -> bool:
        """Claim a due task and run it; False if there was none to claim.

        ``deaths`` is what that task has cost: one that runs alone waits for its room before it is claimed,
        and so do those that wait for its end, so that only what runs is blamed for the end of its worker.
        Raises WorkerUnfit or StoreError where this process should end, and CancelledError, once what was
        held is handed back, where it is to stop.
        """
        alone = deaths >= retry.SOLITARY_DEATHS
        async with self._solitude.room(alone=alone):
            committed = await self._ports.store.claim(
                self._worker_id,
                deciding(task_kinds.begin),
                task_id=task_id,
                session_id=session_id,
                agents_to_skip=self.unloadable.names(),
                most_deaths=ANY_DEATHS if alone else retry.SOLITARY_DEATHS - 1,
            )
            if committed is None:
                return False
            await self._run_claimed(committed)
            return True

    async def run_claimed(self, committed: Committed) -> None:
        """Run a new task that was claimed for this worker. Raises as ``run_due``."""
        async with self._solitude.room(alone=False):
            await self._run_claimed(committed)

    def stop(self, work: asyncio.Task[Any]) -> None:
        """What this asyncio task runs is to be handed back; one that has claimed nothing yet just ends."""
        running = next((running for running in self._running if running.work is work), None)
        if running is None:
            work.cancel()
        else:
            running.interrupt("stop")

    async def _run_claimed(self, committed: Committed) -> None:
        with self._running.entered(committed.claim) as running:
            try:
                runner = self._steps if committed.view.plan is not None else self._turns
                done = await runner.run(committed, await self._agent(committed), running)
            except asyncio.CancelledError:
                await self._stop(running)
                return
            except ClaimLost:
                log.info("claim_lost task=%s fence=%s", running.claim.task_id, running.claim.fence)
                return
            except AgentUnloadable as error:
                log.error("agent_unloadable agent=%s: %s", committed.view.index.agent, error)
                self.unloadable.note(committed.view.index.agent)
                await self.hand_back(running.claim, why=f"agent_unloadable: {error}")
                if self._stay:
                    raise
                return
            except WorkerUnfit:
                self._running.withheld.add((running.claim.task_id, running.claim.fence))
                raise
            except StoreError:
                raise
            except Exception as error:
                log.exception("task_failed task=%s", running.claim.task_id)
                await self._left_if_unsettled(running.claim, self._fail(running.claim, error))
                return
        if done.changes.next_key is not None and done.next_claim is None:
            await self._ports.broker.send(task_id_of(done.claim.session_id, done.changes.next_key))

    async def _agent(self, committed: Committed) -> Agent:
        name = committed.view.index.agent
        agent = await asyncio.to_thread(self._ports.agents.load, name)
        self.unloadable.forget(name)
        return agent

    async def _stop(self, running: RunningTask) -> None:
        if running.interrupted != "lost":
            await self._left_if_unsettled(running.claim, self.hand_back(running.claim))
        if running.interrupted in ("lost", "signal"):
            running.work.uncancel()
            return
        raise asyncio.CancelledError

    async def _left_if_unsettled(self, claim: Claim, ending: Awaitable[None]) -> None:
        """What can't be settled now stays this worker's: its heartbeat tries again, or whoever finds it dead."""
        try:
            await ending
        except (StoreError, WorkerUnfit):
            raise
        except NonokaError as error:
            log.warning("settling_failed task=%s: %s", claim.task_id, error)

    async def hand_back(self, claim: Claim, *, why: str = "handed_back") -> None:
        """The claim is released, what its calls had started is ended, and they are settled."""
        try:
            found = await self._ports.store.commit(claim, _look)
            decide = await complete_begun(self._ports, claim, found.view)
            if decide is None:
                settled = await settle(self._ports, claim, found.view)
                decide = deciding(task_kinds.hand_back, settled, why)
            await after_commit(self._ports, await self._ports.store.commit(claim, decide))
        except ClaimLost:
            log.info("claim_lost task=%s fence=%s", claim.task_id, claim.fence)

    async def _fail(self, claim: Claim, error: Exception) -> None:
        failure = Failure("internal_error", f"{type(error).__name__}: {error}", may_pass=True)
        try:
            found = await self._ports.store.commit(claim, _look)
            settled = await settle(self._ports, claim, found.view)
            decision = deciding(task_kinds.settle_and_retry, failure, self._ports.clock.lot(), settled)
            await after_commit(self._ports, await self._ports.store.commit(claim, decision))
        except ClaimLost:
            log.info("claim_lost task=%s fence=%s", claim.task_id, claim.fence)


def _look(view: SessionView) -> Changes:
    outcome = Changes().task.model_copy(update={"retries": view.task.retries, "deaths": view.task.deaths})
    return Changes(task=outcome)
