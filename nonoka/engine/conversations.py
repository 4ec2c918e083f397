"""The conversations that this process knows: a turn reads only what others wrote since the one before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from nonoka.decisions.conversation_repair import Repair, repair_of
from nonoka.decisions.conversation_rules import calls_of, first_fault
from nonoka.ports.store import ReadStore
from nonoka.records.commit import SessionView
from nonoka.records.memory import MemoryEntry

#: How much memory all that is kept may take, about; the conversation used longest ago goes first.
KEPT_BYTES = 64_000_000
#: What an entry takes besides its text (measured: 1 KB).
_ENTRY_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class _Kept:
    """A valid conversation, under what count of rewrites it was read, and the ids of its calls."""

    rewrites: int
    entries: tuple[MemoryEntry, ...] = ()
    ids: set[str] = field(default_factory=set)
    size: int = 0
    #: what this process committed after ``entries``, by position: calls side by side answer in any order
    heard: dict[int, MemoryEntry] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.entries[-1].position + 1 if self.entries else 0

    def heard_up_to(self, end: int) -> list[MemoryEntry] | None:
        positions = range(self.end, end)
        return [self.heard[at] for at in positions] if all(at in self.heard for at in positions) else None


class Conversations:
    """A bounded cache. Until entries are withdrawn a conversation only grows: what was read stays as it was."""

    def __init__(self, store: ReadStore, *, kept_bytes: int = KEPT_BYTES) -> None:
        self._store = store
        self._kept_bytes = kept_bytes
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._size = 0

    async def whole(self, view: SessionView) -> tuple[tuple[MemoryEntry, ...], Repair | None]:
        """All entries of the session, in order, and what must be done before they can be sent (None: nothing).

        Only what can be sent is kept: one whose claim was lost meanwhile may read a state in between. So what
        was kept needs no second look, and only what follows it is read and judged.
        """
        session_id, rewrites = view.state.session_id, view.state.runtime_state.rewrites
        known = self._taken(session_id)
        if known is None or known.rewrites != rewrites:
            known = _Kept(rewrites)
        following = known.heard_up_to(view.next_position)
        if following is None:
            following = await self._store.conversation(session_id, from_position=known.end)
        entries = (*known.entries, *following)
        if first_fault(following, known.ids) is not None:
            return entries, repair_of(entries, view.next_position)
        known.ids.update(call.id for entry in following for call in calls_of(entry))
        self._keep(session_id, _Kept(rewrites, entries, known.ids, known.size + sum(map(_size_of, following))))
        return entries, None

    def heard(self, view: SessionView, entries: Sequence[MemoryEntry]) -> None:
        """This process has committed these, and the session is as in the view since: they need not be read."""
        known = self._kept.get(view.state.session_id)
        if known is not None and known.rewrites == view.state.runtime_state.rewrites:
            known.heard.update((entry.position, entry) for entry in entries)

    def _taken(self, session_id: str) -> _Kept | None:
        known = self._kept.pop(session_id, None)
        if known is not None:
            self._size -= known.size
        return known

    def _keep(self, session_id: str, known: _Kept) -> None:
        self._taken(session_id)
        self._kept[session_id] = known
        self._size += known.size
        while self._size > self._kept_bytes:
            self._size -= self._kept.popitem(last=False)[1].size


def _size_of(entry: MemoryEntry) -> int:
    return _ENTRY_BYTES + len(entry.content) + sum(len(str(call.args)) for call in entry.tool_calls)
