"""A group of tool calls: run side by side, each committed as it comes (commit points B and C)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from nonoka.agents.agent import Agent
from nonoka.agents.plans import plan_call
from nonoka.agents.tool import Tool
from nonoka.decisions import turn
from nonoka.decisions.turn import CallPlans
from nonoka.engine.deciding import deciding
from nonoka.engine.execution import Execution
from nonoka.engine.ports import Ports
from nonoka.ports.store import Decide
from nonoka.records.base import JsonObject
from nonoka.records.commit import Claim, Committed, SessionView
from nonoka.records.tool import CallResult, CallStart, CallState, Effect


class CallRunner:
    """Runs calls that are begun, and says how those to come would begin."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    def plans(self, agent: Agent, calls: Iterable[tuple[int, str, JsonObject | str]]) -> CallPlans:
        """For each call (place, name, args): how it begins, or the result it has without running."""
        found: dict[int, CallStart | CallResult] = {}
        for place, name, args in calls:
            planned = plan_call(agent, name, args)
            if isinstance(planned, CallResult):
                found[place] = planned
            else:
                tool = planned[0]
                found[place] = CallStart(place=place, effect=tool.effect, on_uncertain=tool.on_uncertain)
        return found

    async def run(
        self,
        claim: Claim,
        view: SessionView,
        calls: Sequence[CallState],
        agent: Agent,
        plans: CallPlans,
        *,
        then_claim: Decide | None,
        give_way: bool,
    ) -> Committed:
        """All these calls have their result; returns the last of their commits.

        Raises ClaimLost, WorkerUnfit. Cancelling it stops all of them where they are.
        """
        commits: list[Committed] = []

        async def one(call: CallState) -> None:
            result = await self._outcome(claim, view, call, agent)
            commits.append(
                await self._ports.store.commit(
                    claim,
                    deciding(turn.finish_call, call.place, result, plans),
                    durable=_begins_a_change(plans, after=call.place),
                    then_claim=then_claim,
                    give_way=give_way,
                )
            )

        if len(calls) == 1:
            await one(calls[0])
        else:
            await _all_or_first_failure([asyncio.create_task(one(call)) for call in calls])
        return commits[-1]

    async def _outcome(self, claim: Claim, view: SessionView, call: CallState, agent: Agent) -> CallResult:
        planned = plan_call(agent, call.name, call.args)
        if isinstance(planned, CallResult):
            return planned
        tool, values = planned
        started = self._ports.clock.monotonic_ms()
        result = await self._execution(claim, view, call, agent, tool).run(values)
        return result.model_copy(update={"duration_ms": self._ports.clock.monotonic_ms() - started})

    def _execution(self, claim: Claim, view: SessionView, call: CallState, agent: Agent, tool: Tool) -> Execution:
        return Execution(ports=self._ports, claim=claim, view=view, call=call, agent=agent, tool=tool)


def _begins_a_change(plans: CallPlans, *, after: int) -> bool:
    following = [plan for place, plan in plans.items() if place > after]
    return any(isinstance(plan, CallStart) and plan.effect is not Effect.READ_ONLY for plan in following)


async def _all_or_first_failure(works: list[asyncio.Task[None]]) -> None:
    try:
        await asyncio.gather(*works)
    except BaseException:
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
        raise
