"""What only the provider that said it needs to see again: an answer's thinking, and its calls' signatures.

Some servers refuse an assistant's calls that come back without them. They fit no field of an entry, so they
are kept in ``metadata["provider"]`` and sent back to the same server only.
"""

from __future__ import annotations

from pydantic import Field, ValidationError
from pydantic_ai.messages import ModelResponse, ThinkingPart

from nonoka.adapters.models.clean_text import clean_json
from nonoka.records.base import JsonObject, Record
from nonoka.records.memory import MemoryEntry

#: What pydantic-ai calls the provider of these parts.
PROVIDER = "openai"
#: Thinking that came between tags in the text: no server needs that back.
_FROM_TAGS = "content"


class _KeptThinking(Record):
    field: str
    content: str


class _Kept(Record):
    origin: str
    thinking: tuple[_KeptThinking, ...] = ()
    calls: dict[int, JsonObject] = Field(default={})


class Notes:
    """An entry's notes as pydantic-ai takes them; ``call_details`` is by a call's place in the answer."""

    def __init__(self, kept: _Kept | None) -> None:
        self.thinking = [
            ThinkingPart(content=part.content, id=part.field, provider_name=PROVIDER)
            for part in (kept.thinking if kept else ())
        ]
        self.call_details = dict(kept.calls) if kept else {}


def read(entry: MemoryEntry, origin: str) -> Notes:
    """The notes that this server left with an entry; none of another server's."""
    provider = entry.metadata.get("provider")
    if not isinstance(provider, dict) or provider.get("origin") != origin:
        return Notes(None)
    try:
        return Notes(_Kept.model_validate(provider))
    except ValidationError:
        return Notes(None)


def take(response: ModelResponse, origin: str) -> JsonObject:
    """What must be kept of a response; empty for one without calls, which every server takes back bare."""
    calls = response.tool_calls
    kept = _Kept(
        origin=origin,
        thinking=tuple(
            _KeptThinking(field=part.id, content=part.content)
            for part in response.parts
            if isinstance(part, ThinkingPart) and part.id and part.id != _FROM_TAGS and part.content
        ),
        calls={place: call.provider_details for place, call in enumerate(calls) if call.provider_details},
    )
    if not calls or not (kept.thinking or kept.calls):
        return {}
    dumped = clean_json(kept.model_dump(mode="json"))
    return dumped if isinstance(dumped, dict) else {}
