"""How each kind of broken conversation is mended."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from nonoka.decisions.conversation_repair import INTERRUPTED, MOST_TOLD, Repair, repair_conversation, repair_of
from nonoka.decisions.draft import Draft
from nonoka.records.commit import SessionView
from nonoka.records.event import EventType
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.runtime import OpenTurn, SessionRuntimeState
from nonoka.records.task import Task, TaskStatus
from tests.support.manual_clock import ManualClock
from tests.support.sessions import new_session

FREE = 50


def entry(position: int, part: str) -> MemoryEntry:
    """``u`` a user's, ``a`` an answer, ``a:x=f,y=g`` asks for f under x and g under y, ``t:x=f`` is a result."""
    kind, _, named = part.partition(":")
    pairs = [tuple(one.split("=")) for one in named.split(",")] if named else []
    if kind == "t":
        known: dict[str, JsonValue] = dict(
            zip(("tool_call_id", "name"), pairs[0] if pairs else [""], strict=False)
        )
        return MemoryEntry(
            position=position, role=MemoryRole.TOOL, content=f"{part} at {position}", metadata=known
        )
    role = MemoryRole.USER if kind == "u" else MemoryRole.ASSISTANT
    calls: list[JsonValue] = [{"id": pair[0], "name": pair[1], "args": {}} for pair in pairs]
    return MemoryEntry(position=position, role=role, content=part, metadata={"tool_calls": calls} if calls else {})


def conversation(*parts: str) -> list[MemoryEntry]:
    return [entry(position, part) for position, part in enumerate(parts)]


def mended(*parts: str) -> Repair:
    repair = repair_of(conversation(*parts), FREE)
    assert repair is not None
    return repair


def told(repair: Repair) -> list[str]:
    """The conversation after it: what was said, and each result with the id it is given under."""
    return [f"{e.tool_call_id}: {e.content}" if e.role is MemoryRole.TOOL else e.content for e in repair.entries]


@pytest.mark.parametrize(
    ("parts", "after", "withdrawn_from"),
    [
        (["u", "a:x=f"], ["u", "a:x=f", f"x: {INTERRUPTED}"], None),
        (["u", "a:x=f", "u"], ["u", "a:x=f", f"x: {INTERRUPTED}", "u"], 2),
        (["u", "a:x=f", "u", "t:x=f"], ["u", "a:x=f", "x: t:x=f at 3", "u"], 2),
        (["t:x=f", "u", "a:x=f"], ["u", "a:x=f", "x: t:x=f at 0"], 0),
        (["u", "a:x=f,y=g", "t:y=g", "t:x=f"], ["u", "a:x=f,y=g", "x: t:x=f at 3", "y: t:y=g at 2"], 2),
        (["u", "a:x=f", "t:x=f", "t:x=f", "a"], ["u", "a:x=f", "x: t:x=f at 2", "a"], 3),
        (["u", "a", "t:gone=f", "u"], ["u", "a", "u"], 2),
        (["u", "a:x=f,y=g", "t:y=g", "a"], ["u", "a:x=f,y=g", f"x: {INTERRUPTED}", "y: t:y=g at 2", "a"], 2),
        (["u", "a:x=f", "a:y=g", "t:x=f", "t:y=g"], ["u", "a:x=f", "x: t:x=f at 3", "a:y=g", "y: t:y=g at 4"], 2),
    ],
)
def test_each_call_is_followed_by_its_own_result(
    parts: list[str], after: list[str], withdrawn_from: int | None
) -> None:
    """Missing ones are told as interrupted; others are moved, doubled ones and those of no call are left out."""
    repair = mended(*parts)
    assert told(repair) == after
    assert repair.withdraw_from == withdrawn_from
    assert repair.done


@pytest.mark.parametrize(
    ("parts", "after"),
    [
        (["a:=f", "t:=f"], ["call_r50_0: t:=f at 1"]),
        (["a:x=f,=f", "t:x=f", "t:=f"], ["x: t:x=f at 1", "call_r50_0: t:=f at 2"]),
        (["a:=f,=g", "t:=g", "t:=f"], ["call_r50_0: t:=f at 2", "call_r50_1: t:=g at 1"]),
        (["a:x=f,x=g", "t:x=f", "t:x=g"], ["x: t:x=f at 1", "call_r50_0: t:x=g at 2"]),
        (["a:x=f", "t:x=f", "a:x=f", "t:x=f"], ["x: t:x=f at 1", "call_r50_0: t:x=f at 3"]),
        (["a:made.up=f", "t:up.made=f"], ["call_r50_0: t:up.made=f at 1"]),
        (["a:=f", "u", "t:"], ["call_r50_0: t: at 2"]),
        (
            ["a:call_r50_0=f,=g", "t:call_r50_0=f", "t:=g"],
            ["call_r50_0: t:call_r50_0=f at 1", "call_r50_1: t:=g at 2"],
        ),
    ],
)
def test_ids_that_cannot_be_sent_become_ours_in_call_and_result(parts: list[str], after: list[str]) -> None:
    """Empty, repeated, refused by servers, or different in the two."""
    repair = mended(*parts)
    calls = [call for e in repair.entries for call in e.tool_calls]
    assert [line for line in told(repair) if ": " in line] == after
    assert [call.id for call in calls] == [line.split(":")[0] for line in after]


def test_a_result_is_never_given_to_a_call_of_another_tool() -> None:
    """Without a common id only the tool's name says whose it is."""
    repair = mended("u", "a:y=g", "t:z=f")
    assert told(repair) == ["u", "a:y=g", f"y: {INTERRUPTED}"]
    assert mended("u", "a:y=g", "t:z").entries[-1].content == INTERRUPTED


def test_a_result_that_lost_its_id_belongs_to_the_call_whose_position_was_kept_for_it() -> None:
    """Two calls of one tool are without result: the one at position 4 is the third's."""
    found = [entry(1, "a:x=f,y=f,z=f"), entry(3, "t:y=f"), entry(4, "t:=f")]
    repair = repair_of(found, FREE)
    assert repair is not None
    assert told(repair)[1:] == [f"x: {INTERRUPTED}", "y: t:y=f at 3", "z: t:=f at 4"]


def test_what_is_no_call_is_left_out_with_the_providers_notes_on_the_calls() -> None:
    """Those go by the calls' places. What the model said stays."""
    known: list[JsonValue] = [7, {"id": "x", "name": "f", "args": {}}]
    broken = MemoryEntry(
        position=0,
        role=MemoryRole.ASSISTANT,
        content="said",
        metadata={"tool_calls": known, "provider": {"origin": "o"}, "turn": 3},
        tokens=9,
    )
    repair = repair_of([broken, entry(1, "t:x=f")], FREE)
    assert repair is not None
    first = repair.entries[0]
    assert (first.content, first.tokens, first.metadata.keys()) == ("said", 9, {"tool_calls", "turn"})
    assert [call.id for call in first.tool_calls] == ["x"]
    assert repair.entries[1].content == "t:x=f at 1"

    nonsense = MemoryEntry(position=0, role=broken.role, content="said", metadata={"tool_calls": "nonsense"})
    plain = repair_of([nonsense], FREE)
    assert plain is not None
    assert plain.entries[0].metadata == {}


def test_a_valid_conversation_needs_no_repair() -> None:
    assert repair_of(conversation("u", "a:x=f", "t:x=f", "a"), FREE) is None
    assert repair_of([], 0) is None


def view(*, next_position: int = FREE, open_turn: OpenTurn | None = None) -> SessionView:
    new = new_session(ManualClock())
    state = new.state.model_copy(update={"runtime_state": SessionRuntimeState(open_turn=open_turn)})
    task = Task(task_id="t", session_id="s", kind="turn", key="turn:1", status=TaskStatus.RUNNING)
    return SessionView(now=5, task=task, index=new.index, state=state, next_position=next_position)


def test_the_repair_is_committed_and_told() -> None:
    """An open turn that nothing asks for any more is closed with it."""
    draft = Draft(view(open_turn=OpenTurn(turn=1, position=30, calls=1)))
    repair_conversation(draft, mended("u", "a:x=f", "u"))
    changes = draft.changes()
    assert (changes.withdraw_from, [e.position for e in changes.entries]) == (2, [50, 51])
    assert changes.state is not None
    assert (changes.state.runtime_state.rewrites, changes.state.runtime_state.open_turn) == (1, None)
    assert draft.last_role is MemoryRole.USER
    (event,) = changes.events
    assert event.type is EventType.SESSION_REPAIRED
    assert event.data == {
        "why": "the conversation could not be sent: call 'x' at position 1 has no result right after it",
        "done": ["call 'x' had no result: the model is told that its outcome is unknown"],
        "withdrawn_from": 2,
        "appended": 2,
    }


def test_what_was_found_is_not_written_over_what_has_come_since() -> None:
    """The conversation has grown: it is read and judged again."""
    draft = Draft(view(next_position=FREE + 1))
    repair_conversation(draft, mended("u", "a:x=f", "u"))
    assert (draft.changes().entries, draft.changes().events) == ((), ())


def test_the_event_of_a_great_repair_stays_small() -> None:
    draft = Draft(view())
    repair_conversation(draft, mended(*["a:x=f"] * 40))
    done = draft.changes().events[0].data["done"]
    assert isinstance(done, list)
    assert len(done) == MOST_TOLD + 1
    assert str(done[-1]).startswith("and ")
