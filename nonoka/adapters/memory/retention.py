"""The part of the store that a collection uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nonoka.adapters.memory.rows import SessionRows
from nonoka.adapters.memory.tables import Tables
from nonoka.decisions.retention import may_go
from nonoka.decisions.transitions import TERMINAL
from nonoka.records.retention import Leftover, OldSession
from nonoka.records.session import SessionIndex
from nonoka.records.workspace import SnapshotTaken


class MemoryRetention:
    """``ports.store.RetentionStore`` in memory."""

    _tables: Tables

    async def begin_collection(self, *, again_in_ms: int) -> bool:
        """See the port."""
        now = self._tables.clock.now_ms()
        if self._tables.next_collection_at > now:
            return False
        self._tables.next_collection_at = now + again_in_ms
        return True

    async def end_collection(self, *, next_in_ms: int) -> None:
        """See the port."""
        self._tables.next_collection_at = self._tables.clock.now_ms() + next_in_ms

    async def old_sessions(
        self, before: int, *, limit: int, after: SessionIndex | None = None
    ) -> list[OldSession]:
        """See the port."""
        found = [
            rows
            for rows in self._tables.sessions.values()
            if rows.state.status in TERMINAL and rows.index.last_active < before
        ]
        # Of two that were created at once, the higher id comes first.
        found.sort(key=lambda rows: rows.index.session_id, reverse=True)
        found.sort(key=lambda rows: rows.index.created_at)
        rest = [rows for rows in found if after is None or _comes_after(rows.index, after)]
        return [self._old(rows) for rows in rest[:limit]]

    async def delete_old_sessions(self, session_ids: Sequence[str], before: int) -> list[str]:
        """See the port."""
        gone = []
        for session_id in session_ids:
            rows = self._tables.sessions.get(session_id)
            if rows is not None and may_go(self._old(rows), before):
                self._tables.drop(session_id)
                gone.append(session_id)
        return gone

    async def known_sessions(self, session_ids: Sequence[str]) -> set[str]:
        """See the port."""
        return self._tables.sessions.keys() & set(session_ids)

    async def spare_snapshots(self, *, taken_until: int) -> int:
        """See the port."""
        return len(list(self._spare(taken_until)))

    async def let_go_of_snapshots(self, number: int, *, taken_until: int) -> int:
        """See the port."""
        oldest = sorted(self._spare(taken_until), key=lambda pair: pair[1].taken_at)[:number]
        for rows, taken in oldest:
            rows.let_go.add(taken.snapshot_id)
        return len(oldest)

    async def leftovers(self) -> list[Leftover]:
        """See the port."""
        used = [f"{rows.index.working_dir}/" for rows in self._tables.sessions.values()]
        return [
            self._tables.leftovers[directory]
            for directory in sorted(self._tables.leftovers)
            if not any(one.startswith(f"{directory}/") for one in used)
        ]

    async def forget_leftover(self, directory: str) -> None:
        """See the port."""
        self._tables.leftovers.pop(directory, None)

    async def free_bytes(self) -> int:
        """See the port. There is no file."""
        return 0

    async def give_back(self, *, most_bytes: int) -> int:
        """See the port. There is no file."""
        return 0

    def _old(self, rows: SessionRows) -> OldSession:
        index = rows.index
        kin = [
            other
            for other in self._tables.sessions.values()
            if other.index.parent == index.session_id or other.index.session_id == index.parent
        ]
        return OldSession(
            index=index,
            status=rows.state.status,
            busy=bool(rows.live_tasks or rows.undrained),
            kin_at_work=any(other.state.status not in TERMINAL or other.live_tasks for other in kin),
        )

    def _spare(self, taken_until: int) -> Iterator[tuple[SessionRows, SnapshotTaken]]:
        for rows in self._tables.sessions.values():
            if rows.state.status in TERMINAL and not rows.live_tasks:
                for taken in rows.snapshots:
                    if taken.snapshot_id not in rows.let_go and taken.taken_at <= taken_until:
                        yield rows, taken


def _comes_after(index: SessionIndex, other: SessionIndex) -> bool:
    later = index.created_at > other.created_at
    return later or (index.created_at == other.created_at and index.session_id < other.session_id)
