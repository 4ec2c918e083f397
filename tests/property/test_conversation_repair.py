"""Whatever a conversation was broken to, its repair is one that every provider takes.

By hand: REPAIR_EXAMPLES=10000 pytest tests/property/test_conversation_repair.py
"""

from __future__ import annotations

import os
from collections import Counter

from nonoka.adapters.models.messages import to_messages
from nonoka.adapters.models.provider_notes import Origin
from nonoka.decisions.conversation_repair import INTERRUPTED, repair_of
from nonoka.decisions.conversation_rules import calls_of
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.model import ModelRequest
from tests.support.broken_conversations import broken, conversation
from tests.support.strict_provider import refusal

EXAMPLES = int(os.environ.get("REPAIR_EXAMPLES", "500"))


def refused(entries: list[MemoryEntry]) -> str | None:
    request = ModelRequest(session_id="s", instructions="", entries=tuple(entries))
    return refusal(to_messages(request, Origin("openai", "here")))


def free_after(entries: list[MemoryEntry]) -> int:
    return entries[-1].position + 3 if entries else 0


def said(entries: list[MemoryEntry]) -> list[tuple[MemoryRole, str]]:
    """What is said, and by whom, but for tools."""
    return [(entry.role, entry.content) for entry in entries if entry.role is not MemoryRole.TOOL]


def test_a_strict_provider_takes_every_repaired_conversation_and_nothing_is_lost() -> None:
    """Each text stands in its order, each call in its place; each result is kept once or left out."""
    was_refused = 0
    for number in range(EXAMPLES):
        found = broken(number)
        repair = repair_of(found, free_after(found))
        was_refused += refused(found) is not None
        if repair is None:
            assert refused(found) is None, number
            continue
        mended = list(repair.entries)
        assert refused(mended) is None, number
        assert said(mended) == said(found), number
        asked = [[(c.name, c.args) for c in calls_of(e)] for e in found if calls_of(e)]
        assert [[(c.name, c.args) for c in calls_of(e)] for e in mended if calls_of(e)] == asked, number
        left = Counter(e.content for e in mended if e.role is MemoryRole.TOOL and e.content != INTERRUPTED)
        assert left <= Counter(e.content for e in found if e.role is MemoryRole.TOOL), number
    assert was_refused > EXAMPLES / 2


def test_a_repair_keeps_what_was_valid_at_the_beginning_and_adds_only_at_free_positions() -> None:
    for number in range(EXAMPLES):
        found = broken(number)
        repair = repair_of(found, free_after(found))
        if repair is None:
            continue
        kept, free = len(repair.kept), free_after(found)
        assert list(repair.kept) == found[:kept], number
        assert repair.withdraw_from == (found[kept].position if kept < len(found) else None), number
        assert [entry.position for entry in repair.anew] == list(range(free, free + len(repair.anew))), number
        assert repair.done, number


def test_a_valid_conversation_is_left_alone_and_a_repaired_one_is_valid() -> None:
    """A second repair would change nothing."""
    for number in range(EXAMPLES):
        assert repair_of(conversation(number), 1000) is None, number
        repair = repair_of(broken(number), 1000)
        assert repair is None or repair_of(repair.entries, 2000) is None, number
