"""What only the provider that said it needs to see again: an answer's thinking, and its parts' signatures.

Some servers refuse an assistant's calls that come back without them. They fit no field of an entry, so they
are kept in ``metadata["provider"]`` and sent back to the same server only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import Field, JsonValue, ValidationError
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart

from nonoka.adapters.models.clean_text import clean_json
from nonoka.records.base import JsonObject, Record
from nonoka.records.memory import MemoryEntry

#: Thinking that came between tags in the text: no server needs that back.
_FROM_TAGS = "content"


@dataclass(frozen=True)
class Origin:
    """Who said something: pydantic-ai's name of the provider, and the server that was asked."""

    system: str
    server: str

    def __str__(self) -> str:
        return f"{self.system} {self.server}"


class _KeptThinking(Record):
    """One thinking part; ``before`` is how many of the answer's calls came before it."""

    content: str
    id: str | None = None
    signature: str | None = None
    details: JsonObject = Field(default={})
    before: int = 0


class _Kept(Record):
    origin: str
    thinking: tuple[_KeptThinking, ...] = ()
    text: JsonObject = Field(default={})
    calls: dict[int, JsonObject] = Field(default={})


class Notes:
    """An entry's notes as pydantic-ai takes them; ``call_details`` is by a call's place in the answer."""

    def __init__(self, kept: _Kept | None, system: str) -> None:
        self._kept = kept.thinking if kept else ()
        self._system = system
        self.text_details = dict(kept.text) if kept and kept.text else None
        self.call_details = dict(kept.calls) if kept else {}

    def thinking_before(self, place: int) -> list[ThinkingPart]:
        """What was thought right before the call at this place of the answer."""
        return [
            ThinkingPart(
                content=part.content,
                id=part.id,
                signature=part.signature,
                provider_name=self._system,
                provider_details=dict(part.details) or None,
            )
            for part in self._kept
            if part.before == place
        ]


def read(entry: MemoryEntry, origin: Origin) -> Notes:
    """The notes that this server left with an entry; none of another server's."""
    provider = entry.metadata.get("provider")
    if not isinstance(provider, dict) or provider.get("origin") != str(origin):
        return Notes(None, origin.system)
    try:
        return Notes(_Kept.model_validate(provider), origin.system)
    except ValidationError:
        return Notes(None, origin.system)


def take(response: ModelResponse, origin: Origin) -> JsonObject:
    """What must be kept of a response; empty for one without calls, which every server takes back bare."""
    thinking: list[_KeptThinking] = []
    calls: dict[int, JsonObject] = {}
    text: JsonObject = {}
    asked = 0
    for part in response.parts:
        match part:
            case ThinkingPart() if part.id != _FROM_TAGS and (part.id or part.signature or part.provider_details):
                thinking.append(_kept_thinking(part, before=asked))
            case ToolCallPart():
                if details := _json(part.provider_details):
                    calls[asked] = details
                asked += 1
            case TextPart():
                text |= _json(part.provider_details)
    if not asked or not (thinking or calls or text):
        return {}
    kept = _Kept(origin=str(origin), thinking=tuple(thinking), text=text, calls=calls)
    return _cleaned(kept.model_dump(mode="json", exclude_defaults=True))


def _kept_thinking(part: ThinkingPart, *, before: int) -> _KeptThinking:
    return _KeptThinking(
        content=part.content,
        id=part.id,
        signature=part.signature,
        details=_json(part.provider_details),
        before=before,
    )


def _json(details: dict[str, Any] | None) -> JsonObject:
    # Details are whatever a provider's own client made of its answer: dates and objects among them.
    return _cleaned(json.loads(json.dumps(details or {}, default=str)))


def _cleaned(value: JsonValue) -> JsonObject:
    cleaned = clean_json(value)
    return cleaned if isinstance(cleaned, dict) else {}
