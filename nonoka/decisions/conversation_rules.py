"""What a conversation must look like before a model may see it."""

from __future__ import annotations

from collections.abc import Sequence

from nonoka.records.memory import MemoryEntry, MemoryRole


def first_fault(entries: Sequence[MemoryEntry]) -> str | None:
    """Why these entries can't be sent; None if each call of each assistant entry has exactly one result.

    Judged per message, in place, never by a set of ids: the results stand right after their message in the
    order asked (invariant 5).
    """
    place = 0
    while place < len(entries):
        entry = entries[place]
        if entry.role is MemoryRole.TOOL:
            return f"the result at position {entry.position} follows no call"
        calls = entry.tool_calls if entry.role is MemoryRole.ASSISTANT else ()
        for offset, call in enumerate(calls, start=1):
            result = entries[place + offset] if place + offset < len(entries) else None
            if result is None or result.role is not MemoryRole.TOOL or result.tool_call_id != call.id:
                return f"call {call.id!r} at position {entry.position} has no result right after it"
        place += 1 + len(calls)
    return None
