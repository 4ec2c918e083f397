"""What a session has come to: the answer of its last run."""

from __future__ import annotations

from nonoka.records.memory import MemoryRole
from nonoka.records.session import SessionState


def final_answer(state: SessionState) -> str | None:
    """The text of the newest assistant entry that asks for no calls, if the run ended with it."""
    last = state.memory_entries[-1] if state.memory_entries else None
    answered = last is not None and last.role is MemoryRole.ASSISTANT and not last.tool_calls
    return last.content if answered and last is not None else None
