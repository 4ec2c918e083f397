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


def test_equal_ids_in_two_messages_are_judged_by_message() -> None:
    """Models repeat ids: a set of them would call the second pair answered by the first."""
    assert first_fault(conversation("u", "a:x", "t:x", "a:x", "t:x")) is None
    assert first_fault(conversation("u", "a:x", "t:x", "a:x", "u")) is not None
    assert first_fault(conversation("u", "a:x,x", "t:x", "t:x")) is None
    assert first_fault(conversation("u", "a:x,x", "t:x")) is not None


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
