"""What is asked of a model and what it answers, in no provider's format."""

from __future__ import annotations

from pydantic import SkipValidation

from nonoka.records.base import JsonObject, Record
from nonoka.records.memory import MemoryEntry
from nonoka.records.runtime import RuntimeUsage
from nonoka.records.tool import ToolSpec


class ModelRequest(Record):
    """One request. ``entries`` is the conversation, each call followed by its one result.

    ``retries`` is how many attempts of this turn failed before; ``timeout_ms`` is what is left until the
    session's deadline, None without one. ``step`` is the plan's step that asks, or whose child session does.
    """

    session_id: str
    instructions: str
    #: not validated: they were when they were read, and each of them again would be the whole conversation again
    entries: SkipValidation[tuple[MemoryEntry, ...]]
    tools: tuple[ToolSpec, ...] = ()
    retries: int = 0
    timeout_ms: int | None = None
    step: str | None = None


class RequestedCall(Record):
    """A call as the model asked for it: its own id (perhaps empty or repeated), and the raw arguments."""

    model_id: str
    name: str
    arguments: str


class ModelAnswer(Record):
    """One answer: text, calls, or both. ``provider`` is what only that provider needs to see again."""

    text: str
    calls: tuple[RequestedCall, ...] = ()
    usage: RuntimeUsage = RuntimeUsage()
    model: str = ""
    provider: JsonObject = {}
