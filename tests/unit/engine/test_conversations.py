"""The conversations that a process has read."""

from __future__ import annotations

from nonoka.engine.conversations import KEPT, Conversations
from nonoka.records.memory import MemoryEntry, MemoryRole

CALLS = {"tool_calls": [{"id": "call_1_0", "name": "look", "args": {}}]}


class Reads:
    """The one method of a store that is used, over a list; it notes from where it was asked."""

    def __init__(self, *entries: MemoryEntry) -> None:
        self.entries = list(entries)
        self.asked_from: list[int] = []

    async def conversation(self, session_id: str, *, from_position: int = 0) -> list[MemoryEntry]:
        self.asked_from.append(from_position)
        return [entry for entry in self.entries if entry.position >= from_position]


def entry(position: int, role: MemoryRole, **metadata: object) -> MemoryEntry:
    return MemoryEntry.model_validate({"position": position, "role": role, "content": "x", "metadata": metadata})


async def test_a_second_turn_reads_only_what_is_new() -> None:
    """And sees all of it."""
    store = Reads(entry(0, MemoryRole.USER), entry(1, MemoryRole.ASSISTANT))
    conversations = Conversations(store)  # type: ignore[arg-type]  # only this method is used
    await conversations.whole("s")
    store.entries.append(entry(2, MemoryRole.USER))
    entries, fault = await conversations.whole("s")
    assert [e.position for e in entries] == [0, 1, 2]
    assert fault is None
    assert store.asked_from == [0, 2]


async def test_what_cannot_be_sent_is_not_kept() -> None:
    """A call without its result, read by one whose claim was lost: the next look reads it again."""
    store = Reads(entry(0, MemoryRole.USER), entry(1, MemoryRole.ASSISTANT, **CALLS))
    conversations = Conversations(store)  # type: ignore[arg-type]
    assert (await conversations.whole("s"))[1] is not None
    store.entries.append(entry(2, MemoryRole.TOOL, tool_call_id="call_1_0"))
    entries, fault = await conversations.whole("s")
    assert fault is None
    assert len(entries) == 3
    assert store.asked_from == [0, 0]


async def test_only_so_many_conversations_are_kept() -> None:
    """The one used longest ago is read anew."""
    store = Reads(entry(0, MemoryRole.USER))
    conversations = Conversations(store)  # type: ignore[arg-type]
    for number in range(KEPT + 1):
        await conversations.whole(str(number))
    store.asked_from.clear()
    await conversations.whole(str(KEPT))
    await conversations.whole("0")
    assert store.asked_from == [1, 0]
