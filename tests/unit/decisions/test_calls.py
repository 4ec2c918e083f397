"""The calls of an open turn, read back from what was committed of them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from nonoka.decisions.calls import call_id, idempotency_key, read_calls, status_payload
from nonoka.records.memory import MemoryEntry, MemoryRole, ToolCall
from nonoka.records.runtime import OpenTurn
from nonoka.records.step_update import StepUpdate
from nonoka.records.tool import CallState, Effect, ProcessGroup

GROUPS = st.builds(
    ProcessGroup,
    group=st.integers(2, 2**22),
    started=st.integers(0, 2**40),
    boot_id=st.just("b"),
    pid_namespace=st.just("pid:[4]"),
    mark=st.text(max_size=8),
)


@st.composite
def begun_calls(draw: st.DrawFn) -> CallState:
    """A call as commit B or a settlement leaves it."""
    return CallState(
        turn=draw(st.integers(1, 300)),
        place=draw(st.integers(0, 3)),
        call_id="",
        name=draw(st.text(max_size=8)),
        args=draw(st.one_of(st.just("not json"), st.dictionaries(st.text(max_size=3), st.integers()))),
        position=0,
        status=draw(st.sampled_from(["not_begun", "begun"])),
        attempt=draw(st.integers(1, 9)),
        fence=draw(st.integers(1, 99)),
        effect=draw(st.sampled_from(Effect)),
        on_uncertain=draw(st.sampled_from(["replay", "tell", "fail"])),
        processes=tuple(draw(st.lists(GROUPS, max_size=2))),
    )


def asked_for(calls: list[tuple[str, str]]) -> MemoryEntry:
    tool_calls = [ToolCall(id=i, name=n, args={}).model_dump(mode="json") for i, n in calls]
    return MemoryEntry(position=4, role=MemoryRole.ASSISTANT, content="", metadata={"tool_calls": tool_calls})


@given(call=begun_calls(), position=st.integers(0, 1_000), answered=st.booleans())
def test_a_calls_row_is_read_back_as_it_was_written(call: CallState, position: int, answered: bool) -> None:
    """Through JSON, as a store keeps it; a result makes it done, and the rest stays known."""
    open_turn = OpenTurn(turn=call.turn, position=position, calls=4)
    call = call.model_copy(
        update={"position": position + 1 + call.place, "call_id": call_id(call.turn, call.place)}
    )
    tool_calls = [
        ToolCall(id=call_id(call.turn, place), name=call.name, args=call.args).model_dump(mode="json")
        for place in range(4)
    ]
    entry = MemoryEntry(
        position=position, role=MemoryRole.ASSISTANT, content="", metadata={"tool_calls": tool_calls}
    )
    payload = json.loads(json.dumps(status_payload(call, "session")))
    row = StepUpdate(step_id=call.step_id, update_type="status", payload=payload, seq=1)

    found = read_calls(open_turn, entry, {call.position} if answered else set(), [row])

    assert found[call.place] == (call.model_copy(update={"status": "done"}) if answered else call)
    untouched = [other for other in found if other.place != call.place]
    assert {(other.status, other.attempt) for other in untouched} == {("not_begun", 0)}


def test_calls_come_in_the_order_asked_each_with_its_place_for_the_result() -> None:
    entry = asked_for([("call_7_0", "a"), ("call_7_1", "b"), ("call_7_2", "c")])

    found = read_calls(OpenTurn(turn=7, position=4, calls=3), entry, {6}, [])

    assert [(c.name, c.position, c.status) for c in found] == [
        ("a", 5, "not_begun"),
        ("b", 6, "done"),
        ("c", 7, "not_begun"),
    ]


def test_results_and_failures_are_not_taken_for_status_rows() -> None:
    rows = [
        StepUpdate(step_id="turn:7/call:0", update_type="result", payload={"attempt": 1}, seq=1),
        StepUpdate(step_id="turn:7/call:0", update_type="error", payload={"attempt": 1}, seq=2),
    ]

    (found,) = read_calls(OpenTurn(turn=7, position=4, calls=1), asked_for([("call_7_0", "a")]), {5}, rows)

    assert (found.status, found.attempt) == ("done", 0)


def test_an_idempotency_key_is_one_calls_in_all_its_attempts_and_no_others() -> None:
    keys = {idempotency_key(session, turn, place) for session in "ab" for turn in (1, 11) for place in (0, 1)}
    assert len(keys) == 8
    call = CallState(turn=3, place=1, call_id="call_3_1", name="t", args={}, position=9)
    first = status_payload(call.model_copy(update={"attempt": 1, "fence": 1}), "s")
    second = status_payload(call.model_copy(update={"attempt": 2, "fence": 5}), "s")
    assert first["key"] == second["key"] == idempotency_key("s", 3, 1)
