"""What a conversation must look like before a model may see it."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from nonoka.records.memory import MemoryEntry, MemoryRole, ToolCall

#: What every provider takes as a call's id: Anthropic refuses other characters, OpenAI longer ones.
_FIT_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")


def first_fault(entries: Sequence[MemoryEntry], earlier_ids: Container[str] = frozenset()) -> str | None:
    """Why these entries can't be sent; None if each call of each assistant entry has exactly one result.

    Judged per message, in place, never by a set of ids: the results stand right after their message in the
    order asked (invariant 5). No two calls share an id, nor has one an id of ``earlier_ids``.
    """
    ids: set[str] = set()
    place = 0
    while place < len(entries):
        entry = entries[place]
        if entry.role is MemoryRole.TOOL:
            return f"the result at position {entry.position} follows no call"
        if has_unreadable_calls(entry):
            return f"position {entry.position} asks for calls that can't be read"
        calls = calls_of(entry)
        for offset, call in enumerate(calls, start=1):
            if not is_fit_id(call.id) or call.id in ids or call.id in earlier_ids:
                return f"call {call.id!r} at position {entry.position} has an id that servers refuse"
            ids.add(call.id)
            result = entries[place + offset] if place + offset < len(entries) else None
            if result is None or result.role is not MemoryRole.TOOL or result.tool_call_id != call.id:
                return f"call {call.id!r} at position {entry.position} has no result right after it"
        place += 1 + len(calls)
    return None


def calls_of(entry: MemoryEntry) -> tuple[ToolCall, ...]:
    """The calls that a model is shown with this entry: only an assistant's count."""
    return entry.tool_calls if entry.role is MemoryRole.ASSISTANT else ()


def has_unreadable_calls(entry: MemoryEntry) -> bool:
    """Whether an assistant's entry holds as calls what is none."""
    found = entry.metadata.get("tool_calls", [])
    return entry.role is MemoryRole.ASSISTANT and not (
        isinstance(found, list) and len(found) == len(entry.tool_calls)
    )


def is_fit_id(call_id: str) -> bool:
    """Whether every server takes this as a call's id."""
    return _FIT_ID.fullmatch(call_id) is not None
