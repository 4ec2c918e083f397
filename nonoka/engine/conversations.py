"""The conversations that this process has read: a turn reads only what is new since the one before."""

from __future__ import annotations

from collections import OrderedDict

from nonoka.decisions.conversation_rules import first_fault
from nonoka.ports.store import ReadStore
from nonoka.records.memory import MemoryEntry

#: How many sessions' conversations are kept; the one used longest ago goes first.
KEPT = 64


class Conversations:
    """A bounded cache. A conversation is append-only, so what was read once stays as it was."""

    def __init__(self, store: ReadStore) -> None:
        self._store = store
        self._kept: OrderedDict[str, tuple[MemoryEntry, ...]] = OrderedDict()

    async def whole(self, session_id: str) -> tuple[tuple[MemoryEntry, ...], str | None]:
        """All entries of the session, in order, and why they can't be sent (None: they can).

        Only what can be sent is kept: one whose claim was lost meanwhile may read a state in between. So what
        was kept needs no second look, and only what follows it is read and judged.
        """
        known = self._kept.pop(session_id, ())
        position = known[-1].position + 1 if known else 0
        following = await self._store.conversation(session_id, from_position=position)
        entries, fault = (*known, *following), first_fault(following)
        if fault is None:
            self._kept[session_id] = entries
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return entries, fault
