"""A worker's store that tells of each commit what the metrics count. Only there with ``--metrics``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from nonoka.errors import ClaimLost
from nonoka.ports.clock import Clock
from nonoka.ports.store import Decide, Store
from nonoka.records.commit import Claim, Committed, LostClaim, SessionView
from nonoka.records.event import EventType, NewEvent
from nonoka.records.task import Task
from workers.facts import Fact

T = TypeVar("T")
Tell = Callable[[Sequence[Fact]], None]
#: (task id, fence)
_Held = tuple[str, int]

#: The results of calls that did not run to their end (docs/errors.md): their time says nothing of the tool.
_NOT_RUN = ("interrupted", "limit_reached", "not_run", "cancelled", "worker_crashed")


def tallied(store: Store, clock: Clock, tell: Tell) -> Any:
    """The same store, which tells of what this worker commits once it is committed."""
    return _Tallied(store, clock, tell)


@dataclass(frozen=True, slots=True)
class _Begun:
    kind: str
    at: int
    retries: int


class _Tallied:
    """Only the three methods by which a claim begins and ends are heard; all else is the store's own."""

    def __init__(self, store: Store, clock: Clock, tell: Tell) -> None:
        self._store = store
        self._clock = clock
        self._tell = tell
        self._begun: dict[_Held, _Begun] = {}
        self._lost: set[_Held] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def claim(self, worker_id: str, decide: Decide, **wanted: Any) -> Committed | None:
        """See the port."""
        return await _heard(self._store.claim(worker_id, decide, **wanted), self._claimed)

    async def commit(self, claim: Claim, decide: Decide, **how: Any) -> Committed:
        """See the port."""
        try:
            return await _heard(self._store.commit(claim, decide, **how), self._committed)
        except ClaimLost:
            self._forget(claim)
            raise

    async def take_over(self, claim: LostClaim, worker_id: str) -> tuple[Claim, SessionView] | None:
        """See the port."""
        taken = await self._store.take_over(claim, worker_id)
        if taken is not None:
            self._lost.add(_held(taken[0]))
        return taken

    def _claimed(self, committed: Committed | None) -> None:
        if committed is not None:
            self._begins(committed.claim, committed.view.task)
            self._tell([Fact("claim"), *self._facts(committed)])

    def _committed(self, committed: Committed) -> None:
        facts = self._settled(committed) if _held(committed.claim) in self._lost else self._facts(committed)
        if committed.next_claim is not None:
            self._begins(committed.next_claim, committed.view.task)
            facts.append(Fact("claim"))
        self._tell(facts)

    def _begins(self, claim: Claim, task: Task) -> None:
        self._begun[_held(claim)] = _Begun(task.kind, self._clock.monotonic_ms(), task.retries)

    def _forget(self, claim: Claim) -> None:
        self._begun.pop(_held(claim), None)
        self._lost.discard(_held(claim))

    def _facts(self, committed: Committed) -> list[Fact]:
        facts = [_call(event) for event in committed.changes.events if _ran(event)]
        outcome, begun = committed.changes.task, self._begun.get(_held(committed.claim))
        if outcome.kind == "keep" or begun is None:
            return facts
        self._forget(committed.claim)
        if outcome.kind == "done":
            facts.append(Fact("task", begun.kind, self._clock.monotonic_ms() - begun.at))
        elif outcome.kind == "ready" and outcome.retries > begun.retries:
            facts.append(Fact("retry"))
        return facts

    def _settled(self, committed: Committed) -> list[Fact]:
        outcome = committed.changes.task.kind
        if outcome == "keep":
            return []
        self._forget(committed.claim)
        return [Fact("death"), Fact("recovery")] if outcome == "ready" else [Fact("death")]


async def _heard(work: Coroutine[Any, Any, T], hear: Callable[[T], None]) -> T:
    """What the store is asked; it is heard of also where the one who asked is cancelled meanwhile."""

    def ended(asked: asyncio.Task[T]) -> None:
        if not asked.cancelled() and asked.exception() is None:
            hear(asked.result())

    asking = asyncio.create_task(work)
    asking.add_done_callback(ended)
    return await asyncio.shield(asking)


def _held(claim: Claim) -> _Held:
    return claim.task_id, claim.fence


def _ran(event: NewEvent) -> bool:
    data = event.data
    return (
        event.type is EventType.CALL_FINISHED
        and bool(data.get("attempt"))
        and data.get("error_type") not in _NOT_RUN
    )


def _call(event: NewEvent) -> Fact:
    took = event.data.get("duration_ms")
    return Fact("call", str(event.data.get("tool")), took if isinstance(took, int) else 0)
