"""One session in memory, driven decision by decision: for tests of what the decisions do to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec

from nonoka.adapters.memory.store import MemoryStore
from nonoka.decisions.draft import Draft
from nonoka.decisions.turn import CallPlans
from nonoka.records.commit import Claim, SessionDetail, SessionView
from nonoka.records.model import ModelAnswer
from nonoka.records.runtime import RuntimeLimits
from nonoka.records.signal import SignalKind
from tests.support.manual_clock import ManualClock
from tests.support.sessions import answering, deciding, message, new_session, signal, take

P = ParamSpec("P")


class OneSession:
    """Its first turn is claimed. ``view`` is what the last commit showed to the worker that made it."""

    def __init__(self, clock: ManualClock, store: MemoryStore, session_id: str) -> None:
        self.clock = clock
        self.store = store
        self.session_id = session_id
        self.claim: Claim
        self.view: SessionView

    @classmethod
    async def running(cls, limits: RuntimeLimits | None = None) -> OneSession:
        clock = ManualClock()
        store = MemoryStore(clock)
        new = new_session(clock, limits=limits)
        await store.create_session(new)
        session = cls(clock, store, new.index.session_id)
        await session.claimed()
        return session

    async def claimed(self) -> SessionView:
        """The session's due task is claimed; there must be one."""
        taken = await take(self.store, self.session_id)
        self.claim, self.view = taken.claim, taken.view
        return self.view

    async def commit(
        self, decision: Callable[Concatenate[Draft, P], object], *args: P.args, **kwargs: P.kwargs
    ) -> SessionView:
        done = await self.store.commit(self.claim, deciding(decision, *args, **kwargs))
        self.view = done.view
        return self.view

    async def answered(self, given: ModelAnswer, plans: CallPlans | None = None) -> SessionView:
        self.view = (await self.store.commit(self.claim, answering(given, plans))).view
        return self.view

    async def taken_over(self) -> SessionView:
        """The worker is dead, and a settler has the claim."""
        (lost,) = await self.store.running_claims()
        taken = await self.store.take_over(lost, "settler")
        assert taken is not None
        self.claim, self.view = taken
        return self.view

    async def signalled(self, *signals: SignalKind | str) -> None:
        """These signals are in its inbox; a text is a message."""
        for each in signals:
            new = signal(each) if isinstance(each, SignalKind) else message(each)
            await self.store.add_signal(self.session_id, new)

    async def detail(self) -> SessionDetail:
        return await self.store.detail(self.session_id)

    async def contents(self) -> list[str]:
        """What the conversation says, in order."""
        return [entry.content for entry in await self.store.conversation(self.session_id)]
