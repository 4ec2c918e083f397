"""The conversations that this process has read: a turn reads only what is new since the one before."""

from __future__ import annotations

from collections import OrderedDict

from nonoka.ports.store import ReadStore
from nonoka.records.memory import MemoryEntry

#: How many sessions' conversations are kept; the one used longest ago goes first.
KEPT = 64


class Conversations:
    """A bounded cache. A conversation is append-only, so what was read once stays as it was."""

    def __init__(self, store: ReadStore) -> None:
        self._store = store
        self._kept: OrderedDict[str, tuple[MemoryEntry, ...]] = OrderedDict()

    async def whole(self, session_id: str) -> tuple[MemoryEntry, ...]:
        """All entries of the session, in order, while none of its calls dangles."""
        known = self._kept.pop(session_id, ())
        following = known[-1].position + 1 if known else 0
        entries = (*known, *await self._store.conversation(session_id, from_position=following))
        self._kept[session_id] = entries
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return entries
