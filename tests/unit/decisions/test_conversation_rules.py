"""Which conversations a model may see."""

from __future__ import annotations

import pytest

from nonoka.decisions.conversation_rules import first_fault
from nonoka.records.memory import MemoryEntry, MemoryRole, ToolCall


def conversation(*parts: str) -> list[MemoryEntry]:
    """``u`` a user's, ``a`` an answer, ``a:x,y`` one that asks for the calls x and y, ``t:x`` a result."""
    return [entry(position, part) for position, part in enumerate(parts)]


def entry(position: int, part: str) -> MemoryEntry:
    kind, _, names = part.partition(":")
    if kind == "t":
        return MemoryEntry(position=position, role=MemoryRole.TOOL, content="", metadata={"tool_call_id": names})
    role = MemoryRole.USER if kind == "u" else MemoryRole.ASSISTANT
    calls = [ToolCall(id=name, name="tool", args={}).model_dump(mode="json") for name in names.split(",") if names]
    return MemoryEntry(position=position, role=role, content="", metadata={"tool_calls": calls} if calls else {})


@pytest.mark.parametrize(
    "parts",
    [
        [],
        ["u"],
        ["u", "a"],
        ["u", "u", "a", "u"],
        ["u", "a:x", "t:x"],
        ["u", "a:x,y", "t:x", "t:y", "u", "a:z", "t:z", "a"],
    ],
)
def test_each_call_followed_by_its_one_result_can_be_sent(parts: list[str]) -> None:
    assert first_fault(conversation(*parts)) is None


def test_an_id_is_used_once() -> None:
    """Ours are; models repeat theirs, and some providers refuse that though each call has its result."""
    for parts, place in [
        (("u", "a:x", "t:x", "a:x", "t:x"), 3),
        (("u", "a:x", "t:x", "a:x", "u"), 3),
        (("u", "a:x,x", "t:x", "t:x"), 1),
    ]:
        assert f"position {place}" in str(first_fault(conversation(*parts)))
    assert "position 1" in str(first_fault(conversation("u", "a:x", "t:x"), {"x"}))


@pytest.mark.parametrize("call_id", ["", " ", "a b", "functions.f:0", "\ud83d", "x" * 41, "é"])
def test_an_id_that_some_server_refuses_is_a_fault(call_id: str) -> None:
    found = [entry(0, "u"), entry(1, f"a: {call_id}"), entry(2, f"t:{call_id}")]
    calls = [ToolCall(id=call_id, name="tool", args={}).model_dump(mode="json")]
    found[1] = found[1].model_copy(update={"metadata": {"tool_calls": calls}})
    assert "position 1" in str(first_fault(found))


@pytest.mark.parametrize("calls", [7, "x", {}, [7], [None], [{"id": "x", "name": "f", "args": {}}, "y"]])
def test_calls_that_are_none_are_a_fault_of_an_assistants_entry_only(calls: object) -> None:
    for role, fault in ((MemoryRole.ASSISTANT, True), (MemoryRole.USER, False)):
        broken = MemoryEntry.model_validate(
            {"position": 0, "role": role, "content": "", "metadata": {"tool_calls": calls}}
        )
        assert bool(first_fault([broken])) is fault


@pytest.mark.parametrize(
    ("parts", "place"),
    [
        (["u", "a:x"], 1),
        (["u", "a:x", "u"], 1),
        (["u", "a:x", "u", "t:x"], 1),
        (["u", "a:x,y", "t:x"], 1),
        (["u", "a:x,y", "t:y", "t:x"], 1),
        (["u", "a:x", "a", "t:x"], 1),
        (["t:x"], 0),
        (["u", "a", "t:x"], 2),
        (["u", "a:x", "t:x", "t:x"], 3),
        (["u", "a:x", "t:x", "u", "a:y", "t:z"], 4),
    ],
)
def test_a_fault_is_told_with_its_position(parts: list[str], place: int) -> None:
    """A call without a result, results out of order, a second one, one without a call, a prompt between."""
    fault = first_fault(conversation(*parts))
    assert fault is not None
    assert f"position {place}" in fault
