"""The conversations that a process knows."""

from __future__ import annotations

from nonoka.engine.conversations import Conversations
from nonoka.records.commit import SessionView
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.runtime import SessionRuntimeState
from nonoka.records.task import Task, TaskStatus
from tests.support.manual_clock import ManualClock
from tests.support.sessions import new_session

CALLS = {"tool_calls": [{"id": "call_1_0", "name": "look", "args": {}}]}


class Reads:
    """The one method of a store that is used, over a list; it notes from where it was asked."""

    def __init__(self, *entries: MemoryEntry) -> None:
        self.entries = list(entries)
        self.asked_from: list[int] = []

    async def conversation(self, session_id: str, *, from_position: int = 0) -> list[MemoryEntry]:
        self.asked_from.append(from_position)
        return [entry for entry in self.entries if entry.position >= from_position]


def view(session_id: str = "s", *, rewrites: int = 0, next_position: int = 9) -> SessionView:
    """The session as its claim finds it."""
    new = new_session(ManualClock(), session_id=session_id)
    runtime = SessionRuntimeState(rewrites=rewrites)
    task = Task(task_id="t", session_id=session_id, kind="turn", key="turn:1", status=TaskStatus.RUNNING)
    state = new.state.model_copy(update={"runtime_state": runtime})
    return SessionView(now=0, task=task, index=new.index, state=state, next_position=next_position)


def entry(position: int, role: MemoryRole, **metadata: object) -> MemoryEntry:
    return MemoryEntry.model_validate({"position": position, "role": role, "content": "x", "metadata": metadata})


async def test_a_second_turn_reads_only_what_is_new() -> None:
    """And sees all of it."""
    store = Reads(entry(0, MemoryRole.USER), entry(1, MemoryRole.ASSISTANT))
    conversations = Conversations(store)  # type: ignore[arg-type]  # only this method is used
    await conversations.whole(view())
    store.entries.append(entry(2, MemoryRole.USER))
    entries, repair = await conversations.whole(view())
    assert [e.position for e in entries] == [0, 1, 2]
    assert repair is None
    assert store.asked_from == [0, 2]


async def test_what_cannot_be_sent_is_not_kept() -> None:
    """A call without its result, read by one whose claim was lost: the next look reads it again."""
    store = Reads(entry(0, MemoryRole.USER), entry(1, MemoryRole.ASSISTANT, **CALLS))
    conversations = Conversations(store)  # type: ignore[arg-type]
    assert (await conversations.whole(view()))[1] is not None
    store.entries.append(entry(2, MemoryRole.TOOL, tool_call_id="call_1_0"))
    entries, repair = await conversations.whole(view())
    assert repair is None
    assert len(entries) == 3
    assert store.asked_from == [0, 0]


async def test_what_this_process_wrote_is_not_read() -> None:
    """Whatever the order in which the results of calls side by side were committed."""
    calls = [{"id": f"call_1_{place}", "name": "look", "args": {}} for place in range(2)]
    store = Reads(entry(0, MemoryRole.USER))
    conversations = Conversations(store)  # type: ignore[arg-type]
    await conversations.whole(view(next_position=1))
    conversations.heard(view(), [entry(1, MemoryRole.ASSISTANT, tool_calls=calls)])
    conversations.heard(view(), [entry(3, MemoryRole.TOOL, tool_call_id="call_1_1")])
    conversations.heard(view(), [entry(2, MemoryRole.TOOL, tool_call_id="call_1_0")])
    entries, repair = await conversations.whole(view(next_position=4))
    assert [e.position for e in entries] == [0, 1, 2, 3]
    assert repair is None
    assert store.asked_from == [0]


async def test_where_something_was_not_heard_all_that_is_new_is_read() -> None:
    """Another process wrote position 1."""
    store = Reads(entry(0, MemoryRole.USER))
    conversations = Conversations(store)  # type: ignore[arg-type]
    await conversations.whole(view(next_position=1))
    store.entries += [entry(1, MemoryRole.ASSISTANT), entry(2, MemoryRole.USER)]
    conversations.heard(view(), [store.entries[2]])
    entries, _ = await conversations.whole(view(next_position=3))
    assert [e.position for e in entries] == [0, 1, 2]
    assert store.asked_from == [0, 1]


async def test_only_so_much_of_conversations_is_kept() -> None:
    """The one used longest ago is read anew."""
    store = Reads(entry(0, MemoryRole.USER))
    conversations = Conversations(store, kept_bytes=3_500)  # type: ignore[arg-type]
    for number in range(4):
        await conversations.whole(view(str(number), next_position=1))
    store.asked_from.clear()
    await conversations.whole(view("3", next_position=1))
    await conversations.whole(view("0", next_position=1))
    assert store.asked_from == [0]


async def test_what_was_read_before_entries_were_withdrawn_is_read_anew() -> None:
    """Another worker repaired it, or rolled it back: the count of rewrites says so."""
    store = Reads(entry(0, MemoryRole.USER), entry(1, MemoryRole.ASSISTANT), entry(2, MemoryRole.USER))
    conversations = Conversations(store)  # type: ignore[arg-type]
    await conversations.whole(view())
    store.entries[1:] = [entry(3, MemoryRole.USER)]
    entries, repair = await conversations.whole(view(rewrites=1))
    assert [e.position for e in entries] == [0, 3]
    assert repair is None
    assert store.asked_from == [0, 0]


async def test_an_id_of_a_call_that_was_read_before_is_a_fault_of_what_follows() -> None:
    """And the repair is of the whole conversation."""
    told = entry(2, MemoryRole.TOOL, tool_call_id="call_1_0")
    store = Reads(entry(0, MemoryRole.USER), entry(1, MemoryRole.ASSISTANT, **CALLS), told)
    conversations = Conversations(store)  # type: ignore[arg-type]
    assert (await conversations.whole(view()))[1] is None
    store.entries += [entry(3, MemoryRole.ASSISTANT, **CALLS), told.model_copy(update={"position": 4})]
    _, repair = await conversations.whole(view(next_position=5))
    assert repair is not None
    assert (repair.withdraw_from, [e.position for e in repair.anew]) == (3, [5, 6])
