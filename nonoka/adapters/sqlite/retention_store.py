"""The part of the store that a collection uses."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from nonoka.adapters.sqlite import cli_sessions, free_pages, leftovers, meta, snapshots
from nonoka.adapters.sqlite.deletion import delete
from nonoka.adapters.sqlite.opened_store import OpenedStore
from nonoka.decisions.retention import may_go
from nonoka.records.retention import Leftover, OldSession
from nonoka.records.session import SessionIndex

_NEXT = "next_collection_at"
_ALL = -1


class RetentionStorePart(OpenedStore):
    """``ports.store.RetentionStore`` in SQLite."""

    async def begin_collection(self, *, again_in_ms: int) -> bool:
        def is_due(db: sqlite3.Connection) -> bool:
            return int(meta.get(db, _NEXT) or 0) <= self._now()

        def work(db: sqlite3.Connection) -> bool:
            if not is_due(db):
                return False
            meta.put(db, _NEXT, str(self._now() + again_in_ms))
            return True

        # Asked all the time: only what is due takes the write lock.
        return await self._read(is_due) and await self._write(work)

    async def end_collection(self, *, next_in_ms: int) -> None:
        await self._write(lambda db: meta.put(db, _NEXT, str(self._now() + next_in_ms)))

    async def old_sessions(
        self, before: int, *, limit: int, after: SessionIndex | None = None
    ) -> list[OldSession]:
        return await self._read(lambda db: cli_sessions.ended_before(db, before, limit, after))

    async def delete_old_sessions(self, session_ids: Sequence[str], before: int) -> list[str]:
        def work(db: sqlite3.Connection) -> list[str]:
            gone = []
            for session_id in session_ids:
                found = cli_sessions.old(db, session_id)
                if found is not None and may_go(found, before):
                    delete(db, session_id, self._now())
                    gone.append(session_id)
            return gone

        return await self._write(work, durable=True)

    async def known_sessions(self, session_ids: Sequence[str]) -> set[str]:
        return await self._read(lambda db: cli_sessions.known(db, session_ids))

    async def spare_snapshots(self, *, taken_until: int) -> int:
        return await self._read(lambda db: len(snapshots.spare(db, taken_until, _ALL)))

    async def let_go_of_snapshots(self, number: int, *, taken_until: int) -> int:
        def work(db: sqlite3.Connection) -> int:
            rows = snapshots.spare(db, taken_until, number)
            snapshots.let_go(db, rows, self._now())
            return len(rows)

        return await self._write(work, durable=True)

    async def leftovers(self) -> list[Leftover]:
        return await self._read(leftovers.free)

    async def forget_leftover(self, directory: str) -> None:
        await self._write(lambda db: leftovers.forget(db, directory))

    async def free_bytes(self) -> int:
        return await self._read(free_pages.bytes_free)

    async def give_back(self, *, most_bytes: int) -> int:
        if not await self._read(free_pages.bytes_free):
            return 0
        return await self._write(lambda db: free_pages.give_back(db, most_bytes))
