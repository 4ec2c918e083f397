"""The conversation: one entry a message, append-only, ordered by position; entries can be withdrawn."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property

from pydantic import JsonValue

from nonoka.records.base import JsonObject, Record


class MemoryRole(StrEnum):
    """Who speaks in an entry."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ToolCall(Record):
    """A call that an assistant entry asks for; kept in that entry's ``metadata["tool_calls"]``.

    ``id`` is ours (``call_<turn>_<place>``) and the one used on the wire; ``model_id`` is what the model
    said, which models repeat or leave empty. ``args`` is the parsed JSON object, or the raw text where
    the model's text was not a JSON object.
    """

    id: str
    name: str
    args: JsonObject | str
    model_id: str = ""


class MemoryEntry(Record):
    """One message of the conversation.

    An assistant's ``metadata`` may hold ``tool_calls`` (list of ToolCall), ``turn``, ``model`` and
    ``provider``; a tool's holds ``tool_call_id``, ``name`` and ``ok``. ``tokens`` is 0 where unknown.
    """

    position: int
    role: MemoryRole
    content: str
    metadata: JsonObject = {}
    tokens: int = 0

    @cached_property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls this entry asks for, in the order asked; empty for a plain answer."""
        calls: JsonValue = self.metadata.get("tool_calls", [])
        return tuple(ToolCall.model_validate(call) for call in calls) if isinstance(calls, list) else ()

    @property
    def tool_call_id(self) -> str | None:
        """For a tool entry: the call whose result this is."""
        found = self.metadata.get("tool_call_id")
        return found if isinstance(found, str) else None
