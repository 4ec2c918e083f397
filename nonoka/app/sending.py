"""A store that tells the workers of each new task once it is committed, where there is a Redis to tell them by."""

from __future__ import annotations

from nonoka.adapters.brokers.redis.hints import RedisHints
from nonoka.adapters.brokers.redis.keys import namespace_of
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.errors import UnknownSession
from nonoka.ports.store import Decide
from nonoka.records.commit import Committed, NewSession, NewSignal
from nonoka.records.task import TaskStatus, task_id_of, turn_key


class SendingStore(SqliteStore):
    """The SQLite store, and what it tells the workers by; whatever becomes of that, the commit stands."""

    hints: RedisHints

    async def bind_hints(self) -> RedisHints:
        """The hints, which know from now on whose tasks they send."""
        if self.hints.namespace is None:
            self.hints.bind(namespace_of(await self.store_id()))
        return self.hints

    async def create_session(
        self, new: NewSession, *, claim_by: str | None = None, decide: Decide | None = None
    ) -> Committed | None:
        committed = await super().create_session(new, claim_by=claim_by, decide=decide)
        if claim_by is None:
            hints = await self.bind_hints()
            await hints.send(task_id_of(new.index.session_id, turn_key(1)))
        return committed

    async def add_signal(self, session_id: str, signal: NewSignal) -> int:
        seq = await super().add_signal(session_id, signal)
        hints = await self.bind_hints()
        try:
            live = (await self.standing(session_id)).live_tasks
        except UnknownSession:
            return seq  # deleted meanwhile
        for task in live:
            if task.status is TaskStatus.READY:
                await hints.send(task.task_id)
        return seq
