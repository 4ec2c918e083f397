"""The conversations that this process has read: a turn reads only what is new since the one before."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from nonoka.decisions.conversation_repair import Repair, repair_of
from nonoka.decisions.conversation_rules import calls_of, first_fault
from nonoka.ports.store import ReadStore
from nonoka.records.commit import SessionView
from nonoka.records.memory import MemoryEntry

#: How many sessions' conversations are kept; the one used longest ago goes first.
KEPT = 64


@dataclass(frozen=True, slots=True)
class _Kept:
    """A valid conversation, under what count of rewrites it was read, and the ids of its calls."""

    rewrites: int
    entries: tuple[MemoryEntry, ...]
    ids: set[str]


class Conversations:
    """A bounded cache. Until entries are withdrawn a conversation only grows: what was read stays as it was."""

    def __init__(self, store: ReadStore) -> None:
        self._store = store
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def whole(self, view: SessionView) -> tuple[tuple[MemoryEntry, ...], Repair | None]:
        """All entries of the session, in order, and what must be done before they can be sent (None: nothing).

        Only what can be sent is kept: one whose claim was lost meanwhile may read a state in between. So what
        was kept needs no second look, and only what follows it is read and judged.
        """
        session_id, rewrites = view.state.session_id, view.state.runtime_state.rewrites
        known = self._kept.pop(session_id, None)
        if known is None or known.rewrites != rewrites:
            known = _Kept(rewrites, (), set())
        position = known.entries[-1].position + 1 if known.entries else 0
        following = await self._store.conversation(session_id, from_position=position)
        entries = (*known.entries, *following)
        if first_fault(following, known.ids) is not None:
            return entries, repair_of(entries, view.next_position)
        known.ids.update(call.id for entry in following for call in calls_of(entry))
        self._kept[session_id] = _Kept(rewrites, entries, known.ids)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return entries, None
