"""The part of the store for those who look."""

from __future__ import annotations

from nonoka.adapters.memory.rows import open_calls, whole_state
from nonoka.adapters.memory.tables import Tables
from nonoka.errors import AmbiguousSession, UnknownSession
from nonoka.records.commit import SessionDetail, SessionLine, Standing
from nonoka.records.event import Event
from nonoka.records.memory import MemoryEntry
from nonoka.records.session import SessionIndex, SessionState


class MemoryReading:
    """``ports.store.ReadStore`` in memory."""

    _tables: Tables

    async def find_session(self, prefix: str) -> SessionIndex:
        """See the port."""
        if prefix in self._tables.sessions:
            return self._tables.sessions[prefix].index
        found = sorted(known for known in self._tables.sessions if known.startswith(prefix))
        if not found:
            raise UnknownSession(prefix)
        if len(found) > 1:
            raise AmbiguousSession(prefix, found)
        return self._tables.sessions[found[0]].index

    async def load_session(self, session_id: str) -> SessionState:
        """See the port. Raises UnknownSession."""
        return whole_state(self._tables.rows(session_id))

    async def conversation(self, session_id: str, *, from_position: int = 0) -> list[MemoryEntry]:
        """See the port. Raises UnknownSession."""
        entries = self._tables.rows(session_id).conversation
        return [entry for entry in entries if entry.position >= from_position]

    async def list_sessions(self, *, limit: int) -> list[SessionLine]:
        """See the port."""
        newest_first = list(self._tables.sessions.values())[::-1]
        newest_first.sort(key=lambda rows: rows.index.created_at, reverse=True)
        return [SessionLine(index=rows.index, status=rows.state.status.value) for rows in newest_first[:limit]]

    async def detail(self, session_id: str) -> SessionDetail:
        """See the port. Raises UnknownSession."""
        rows = self._tables.rows(session_id)
        return SessionDetail(
            index=rows.index,
            state=whole_state(rows),
            tasks=tuple(rows.tasks.values()),
            calls=open_calls(rows),
            updates=tuple(sorted(rows.updates.values(), key=lambda update: update.seq)),
            events=tuple(rows.events),
            signals=rows.undrained,
        )

    async def events_after(self, session_id: str, seq: int, *, limit: int = 1000) -> list[Event]:
        """See the port. Raises UnknownSession."""
        return [event for event in self._tables.rows(session_id).events if event.seq > seq][:limit]

    async def change_mark(self) -> int:
        """See the port."""
        return self._tables.commits

    async def standing(self, session_id: str) -> Standing:
        """See the port."""
        rows = self._tables.rows(session_id)
        return Standing(status=rows.state.status, live_tasks=tuple(rows.live_tasks))
