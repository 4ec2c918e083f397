"""The conversation: one entry a message, append-only, ordered by position; entries can be withdrawn."""

from __future__ import annotations

import json
from enum import StrEnum
from functools import cached_property

from pydantic import JsonValue, ValidationError

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
        """The calls this entry asks for, in the order asked; empty for a plain answer.

        A store may have been changed by hand: what is no call is left out, what a call lacks is empty.
        """
        calls: JsonValue = self.metadata.get("tool_calls", [])
        found = [_read_call(call) for call in calls] if isinstance(calls, list) else []
        return tuple(call for call in found if call is not None)

    @property
    def tool_call_id(self) -> str | None:
        """For a tool entry: the call whose result this is."""
        found = self.metadata.get("tool_call_id")
        return found if isinstance(found, str) else None


def _read_call(call: JsonValue) -> ToolCall | None:
    try:
        return ToolCall.model_validate(call)
    except ValidationError:
        if not isinstance(call, dict):
            return None
    texts = {key: value for key in ("id", "name", "model_id") if isinstance(value := call.get(key), str)}
    args = call.get("args") or {}
    return ToolCall(
        id=texts.get("id", ""),
        name=texts.get("name", ""),
        args=args if isinstance(args, dict | str) else json.dumps(args),
        model_id=texts.get("model_id", ""),
    )
