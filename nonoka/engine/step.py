"""The one loop of a plan's step: ask the decision what to do, do it, commit what came of it."""

from __future__ import annotations

from nonoka.agents.agent import Agent
from nonoka.decisions import step
from nonoka.decisions.step import Collect, HeedSignals, Over, Prepare, RunStep, Spread
from nonoka.engine.deciding import deciding
from nonoka.engine.ports import Ports
from nonoka.engine.running import RunningTask
from nonoka.engine.step_child import child_outcome
from nonoka.engine.step_work import ChildRun, Prepared, PromptRun, StepWork, ToolRun
from nonoka.engine.workspace import after_commit, prepare
from nonoka.errors import ModelFailure, WorkspaceError
from nonoka.ports.store import Decide
from nonoka.records.commit import Claim, Committed, SessionView
from nonoka.records.step import StepError
from nonoka.records.step_run import call_of
from nonoka.records.task import task_id_of
from nonoka.records.tool import Effect
from nonoka.records.workspace import Snapshot

#: Rows that one commit lays for a step that is fanned out.
CHUNK = 500
#: A workspace that another store's session is changing is looked at again after this time.
OTHER_STORE_MS = 1_000


class StepRunner:
    """Carries a claimed step, or a plan's turn, to its end."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    async def run(self, committed: Committed, agent: Agent, running: RunningTask) -> Committed:
        """Work until the task is done, released or given up; returns the last commit.

        Raises ClaimLost. Cancelling it leaves a begun attempt in doubt: the caller settles it.
        """
        prepared: ToolRun | PromptRun | None = None
        while True:
            await self._tell(committed)
            claim, view = committed.claim, committed.view
            running.claim = claim
            match step.next_action(view):
                case Over():
                    return committed
                case HeedSignals():
                    committed = await self._commit(claim, deciding(step.heed))
                case Spread():
                    committed = await self._spread(claim, view, agent)
                case Prepare():
                    found = await self._work(claim, view, agent).prepared()
                    prepared = found if isinstance(found, ToolRun | PromptRun) else None
                    committed = await self._begun(claim, view, found)
                case RunStep():
                    committed = await self._ran(claim, view, agent, prepared)
                case Collect(run, timeout_s):
                    outcome = await child_outcome(self._ports, run, timeout_s)
                    ended = deciding(step.wait_for_child) if outcome is None else deciding(step.finish, outcome)
                    committed = await self._commit(claim, ended)

    def _work(self, claim: Claim, view: SessionView, agent: Agent) -> StepWork:
        return StepWork(ports=self._ports, claim=claim, view=view, agent=agent)

    async def _ran(
        self, claim: Claim, view: SessionView, agent: Agent, prepared: ToolRun | PromptRun | None
    ) -> Committed:
        if prepared is None:
            raise RuntimeError(f"{claim.task_id} was begun under this claim, and not here")
        try:
            outcome = await self._work(claim, view, agent).outcome(prepared)
        except ModelFailure as failure:
            error = StepError(error_type=failure.kind, message=str(failure))
            lot, wait_ms = self._ports.clock.lot(), failure.retry_after_ms
            later = deciding(step.retry_later, error, lot, wait_ms, may_pass=failure.transient)
            return await self._commit(claim, later)
        return await self._commit(claim, deciding(step.finish, outcome))

    async def _begun(self, claim: Claim, view: SessionView, found: Prepared | StepError) -> Committed:
        if isinstance(found, StepError):
            return await self._commit(claim, deciding(step.finish, found))
        if isinstance(found, ChildRun):
            born = deciding(step.begin_child, found.child, found.shown)
            return await self._commit(claim, born, durable=True)
        start = found.start
        if start.effect is Effect.WORKSPACE and view.holds_workspace:
            kept = await self._kept_workspace(claim, view)
            if isinstance(kept, Committed):
                return kept
            start = start.model_copy(update={"snapshot": kept})
        decision = deciding(step.begin_call, start, found.name, found.shown)
        return await self._commit(claim, decision, durable=start.effect is not Effect.READ_ONLY)

    async def _kept_workspace(self, claim: Claim, view: SessionView) -> Snapshot | Committed:
        if view.step is None:
            raise TypeError("only a step's task begins")
        try:
            kept = await prepare(self._ports, claim, view, call_of(view.step))
        except WorkspaceError as error:
            failed = StepError(error_type="workspace_error", message=str(error))
            retry = deciding(step.retry_later, failed, self._ports.clock.lot(), None, may_pass=True)
            return await self._commit(claim, retry)
        if isinstance(kept, str):
            waits = StepError(error_type="workspace_in_use", message=kept)
            return await self._commit(claim, deciding(step.wait_and_retry, waits, OTHER_STORE_MS, 0))
        return kept

    async def _spread(self, claim: Claim, view: SessionView, agent: Agent) -> Committed:
        values = await self._work(claim, view, agent).items()
        if isinstance(values, StepError):
            return await self._commit(claim, deciding(step.finish, values))
        laid = view.step.laid if view.step is not None else 0
        while True:
            chunk = values[laid : laid + CHUNK]
            committed = await self._commit(claim, deciding(step.lay, len(values), chunk))
            laid += len(chunk)
            going_on = isinstance(step.next_action(committed.view), Spread)
            if not going_on or laid >= len(values):
                return committed

    async def _commit(self, claim: Claim, decide: Decide, *, durable: bool = False) -> Committed:
        return await self._ports.store.commit(claim, decide, durable=durable)

    async def _tell(self, committed: Committed) -> None:
        await after_commit(self._ports, committed)
        for key in committed.changes.plan.ready if committed.changes.plan is not None else ():
            await self._ports.broker.send(task_id_of(committed.claim.session_id, key))
