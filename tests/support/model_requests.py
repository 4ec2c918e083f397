"""Conversations for the model adapters' tests, written short."""

from __future__ import annotations

from pydantic import JsonValue

from nonoka.records.base import JsonObject
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.model import ModelRequest

Spoken = tuple[MemoryRole, str, JsonObject]


def user(text: str) -> Spoken:
    return (MemoryRole.USER, text, {})


def assistant(text: str, *calls: tuple[str, str, JsonObject | str], **metadata: JsonValue) -> Spoken:
    """Calls are (our id, name, args)."""
    asked: list[JsonValue] = [{"id": id_, "name": name, "args": args} for id_, name, args in calls]
    return (MemoryRole.ASSISTANT, text, {**metadata, **({"tool_calls": asked} if asked else {})})


def result(call_id: str, name: str, text: str) -> Spoken:
    return (MemoryRole.TOOL, text, {"tool_call_id": call_id, "name": name, "ok": True})


def asking(
    *spoken: Spoken, instructions: str = "", retries: int = 0, timeout_ms: int | None = None
) -> ModelRequest:
    """A request with this conversation."""
    return ModelRequest(
        session_id="s",
        instructions=instructions,
        entries=tuple(
            MemoryEntry(position=at, role=role, content=text, metadata=metadata)
            for at, (role, text, metadata) in enumerate(spoken)
        ),
        retries=retries,
        timeout_ms=timeout_ms,
    )


class Listener:
    """What ``on_text`` was told."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def __call__(self, text: str) -> None:
        self.heard.append(text)

    @property
    def text(self) -> str:
        return "".join(self.heard)
