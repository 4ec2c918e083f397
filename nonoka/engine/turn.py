"""The one loop of a turn: ask the decision what to do, do it, commit what came of it."""

from __future__ import annotations

import logging

from nonoka.agents.agent import Agent
from nonoka.decisions import rollback, turn
from nonoka.decisions.conversation_repair import Repair, repair_conversation
from nonoka.decisions.conversation_rules import first_fault
from nonoka.decisions.turn import (
    NO_WORK,
    AdvanceCalls,
    CallModel,
    CallPlans,
    DrainSignals,
    EndTurn,
    FailRun,
    ReserveWorkspace,
    RollBack,
    RunCalls,
    Stop,
    TakeSnapshot,
)
from nonoka.engine.calls import CallRunner
from nonoka.engine.conversations import Conversations
from nonoka.engine.deciding import deciding
from nonoka.engine.ports import Ports
from nonoka.engine.rollback import roll_back
from nonoka.engine.running import RunningTask
from nonoka.engine.streaming import TextStream
from nonoka.engine.workspace import after_commit, keep_work, prepare
from nonoka.errors import ModelFailure, WorkspaceError
from nonoka.ports.store import Decide
from nonoka.records.commit import Claim, Committed, SessionView
from nonoka.records.memory import MemoryEntry, ToolCall
from nonoka.records.model import ModelAnswer, ModelRequest
from nonoka.records.tool import CallStart, CallState, Effect

log = logging.getLogger(__name__)


class TurnRunner:
    """Carries a claimed turn to its end; with ``stay``, the turns after it as well; with ``give_way``, as long as
    no other task is due.
    """

    def __init__(self, ports: Ports, *, stay: bool, give_way: bool = False) -> None:
        self._ports = ports
        self._calls = CallRunner(ports)
        self._conversations = Conversations(ports.store)
        self._then_claim: Decide | None = deciding(turn.begin) if stay or give_way else None
        self._give_way = give_way

    def stop_staying(self) -> None:
        """Turns that end from now on are the last that is run here of their session."""
        self._then_claim = None

    async def run(self, committed: Committed, agent: Agent, running: RunningTask) -> Committed:
        """Work until the task is done, released or given up; returns the last commit.

        Raises ClaimLost. Cancelling it leaves begun calls in doubt: the caller settles them.
        """
        while True:
            await after_commit(self._ports, committed)
            claim, view = committed.next_claim or committed.claim, committed.view
            running.claim = claim
            self._conversations.heard(view, committed.changes.entries)
            match turn.next_action(view):
                case Stop():
                    return committed
                case DrainSignals():
                    committed = await self._commit(claim, deciding(turn.attend))
                case FailRun(error_type, message):
                    committed = await self._commit(claim, deciding(turn.fail_run, error_type, message))
                case EndTurn():
                    work = NO_WORK if view.calls else await keep_work(self._ports, view)
                    committed = await self._commit(claim, deciding(turn.end_turn, work))
                case CallModel():
                    committed = await self._ask(claim, view, agent)
                case TakeSnapshot(call):
                    committed = await self._begin_in_workspace(claim, view, call, agent)
                case ReserveWorkspace():
                    committed = await self._commit(claim, deciding(rollback.reserve))
                case RollBack(request):
                    decide = await roll_back(self._ports, claim, view, request)
                    committed = await self._commit(claim, decide, durable=True)
                case AdvanceCalls():
                    plans = self._calls.plans(agent, [(c.place, c.name, c.args) for c in view.calls])
                    committed = await self._commit(
                        claim, deciding(turn.advance_calls, plans), durable=_changes_something(plans)
                    )
                case RunCalls(calls):
                    plans = self._calls.plans(agent, [(c.place, c.name, c.args) for c in view.calls])
                    committed = await self._calls.run(
                        claim, view, calls, agent, plans, then_claim=self._then_claim, give_way=self._give_way
                    )

    async def _begin_in_workspace(
        self, claim: Claim, view: SessionView, call: CallState, agent: Agent
    ) -> Committed:
        plans = self._calls.plans(agent, [(c.place, c.name, c.args) for c in view.calls])
        plan = plans[call.place]
        if isinstance(plan, CallStart) and plan.effect is Effect.WORKSPACE:
            try:
                prepared = await prepare(self._ports, claim, view, call)
            except WorkspaceError as error:
                failed = turn.Failure("workspace_error", str(error), may_pass=not error.lasting)
                return await self._commit(claim, deciding(turn.retry_later, failed, self._ports.clock.lot()))
            if isinstance(prepared, str):
                return await self._commit(claim, deciding(turn.wait_for_other_store, prepared))
            plans = {**plans, call.place: plan.model_copy(update={"snapshot": prepared})}
        return await self._commit(claim, deciding(turn.advance_calls, plans), durable=True)

    async def _ask(self, claim: Claim, view: SessionView, agent: Agent) -> Committed:
        try:
            entries, repair = await self._conversations.whole(view)
            if repair is not None:
                return await self._repair(claim, repair)
            answer = await self._answer(claim, view, agent, entries)
        except ModelFailure as failure:
            failed = turn.Failure(failure.kind, str(failure), failure.transient, failure.retry_after_ms)
            return await self._commit(claim, deciding(turn.retry_later, failed, self._ports.clock.lot()))
        calls = [ToolCall(id="", name=c.name, args=turn.parsed_arguments(c.arguments)) for c in answer.calls]
        plans = self._calls.plans(agent, [(place, c.name, c.args) for place, c in enumerate(calls)])
        work = NO_WORK if calls else await keep_work(self._ports, view)
        return await self._commit(
            claim, deciding(turn.record_answer, answer, plans, work), durable=_changes_something(plans)
        )

    async def _repair(self, claim: Claim, repair: Repair) -> Committed:
        if (fault := first_fault(repair.entries)) is not None:
            raise ModelFailure("bad_request", f"the conversation can't be sent: {fault}", transient=False)
        log.warning("conversation_repaired session=%s: %s", claim.session_id, "; ".join(repair.done))
        return await self._commit(claim, deciding(repair_conversation, repair))

    async def _answer(
        self, claim: Claim, view: SessionView, agent: Agent, entries: tuple[MemoryEntry, ...]
    ) -> ModelAnswer:
        model = await self._ports.models.get(view.index.model)
        deadline = view.state.runtime_state.deadline_at
        request = ModelRequest(
            session_id=claim.session_id,
            instructions=agent.instructions,
            entries=entries,
            tools=agent.specs,
            retries=view.task.retries,
            step=view.index.step,
            timeout_ms=None if deadline is None else max(1, deadline - self._ports.clock.now_ms()),
        )
        stream = TextStream(
            self._ports.store, self._ports.clock, claim, turn=view.task.turn, attempt=view.task.attempt
        )
        return await model.respond(request, stream.hear)

    async def _commit(self, claim: Claim, decide: Decide, *, durable: bool = False) -> Committed:
        return await self._ports.store.commit(
            claim, decide, durable=durable, then_claim=self._then_claim, give_way=self._give_way
        )


def _changes_something(plans: CallPlans) -> bool:
    return any(isinstance(plan, CallStart) and plan.effect is not Effect.READ_ONLY for plan in plans.values())
