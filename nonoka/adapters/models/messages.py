"""Our conversation as pydantic-ai's messages, and its calls as ours. What asks a model calls this."""

from __future__ import annotations

import hashlib
import json
import re

from pydantic import JsonValue
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from nonoka.adapters.models import provider_notes
from nonoka.adapters.models.clean_text import clean_json, clean_text
from nonoka.adapters.models.provider_notes import Origin
from nonoka.records import model as ours
from nonoka.records.base import JsonObject
from nonoka.records.memory import MemoryEntry, MemoryRole, ToolCall

#: Strict servers take arguments only as a JSON object; what isn't one travels under this key.
INVALID_JSON = "INVALID_JSON"
#: What is sent in place of nothing to the systems that refuse a text of blanks.
EMPTY = "(empty)"

_REFUSE_BLANKS = ("anthropic", "bedrock")
_UNFIT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")
#: The longest function name that OpenAI accepts in a request.
_LONGEST_NAME = 64


def to_messages(request: ours.ModelRequest, origin: Origin) -> list[ModelMessage]:
    """The conversation for the wire, with our call ids; an assistant entry that says nothing is left out.

    Notes that another server than ``origin`` left are not sent.
    """
    messages: list[ModelMessage] = []
    for entry in request.entries:
        if entry.role is MemoryRole.ASSISTANT:
            if said := _response_parts(entry, origin):
                messages.append(ModelResponse(parts=said, provider_name=origin.system))
        elif messages and isinstance(last := messages[-1], ModelRequest):
            last.parts = [*last.parts, _request_part(entry, origin)]
        else:
            messages.append(ModelRequest(parts=[_request_part(entry, origin)]))
    return messages


def to_parameters(request: ours.ModelRequest) -> ModelRequestParameters:
    """The tools and the instructions of a request."""
    instructions = clean_text(request.instructions)
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=clean_text(tool.description),
                parameters_json_schema=_clean_object(tool.parameters),
            )
            for tool in request.tools
        ],
        instruction_parts=[InstructionPart(content=instructions)] if instructions else None,
    )


def to_calls(response: ModelResponse) -> tuple[ours.RequestedCall, ...]:
    """The calls that a response asks for, in its order, with the arguments as the model wrote them."""
    return tuple(
        ours.RequestedCall(model_id=call.tool_call_id, name=call.tool_name, arguments=_raw_arguments(call))
        for call in response.tool_calls
    )


def _request_part(entry: MemoryEntry, origin: Origin) -> ModelRequestPart:
    content = clean_text(entry.content)
    if not content.strip() and origin.system in _REFUSE_BLANKS:
        content = EMPTY
    match entry.role:
        case MemoryRole.SYSTEM:
            return SystemPromptPart(content=content)
        case MemoryRole.TOOL:
            name = entry.metadata.get("name")
            return ToolReturnPart(
                tool_name=_wire_name(name if isinstance(name, str) else ""),
                content=content,
                tool_call_id=_wire_id(entry.tool_call_id or "", origin),
            )
        case _:
            return UserPromptPart(content=content)


def _response_parts(entry: MemoryEntry, origin: Origin) -> list[ModelResponsePart]:
    notes = provider_notes.read(entry, origin)
    said = clean_text(entry.content)
    parts: list[ModelResponsePart] = [*notes.thinking_before(0)]
    if said.strip():  # strict servers refuse a text of blanks
        parts.append(TextPart(content=said, provider_name=origin.system, provider_details=notes.text_details))
    for place, call in enumerate(entry.tool_calls):
        parts += notes.thinking_before(place) if place else []
        parts.append(_call_part(call, origin, notes.call_details.get(place)))
    return parts if said.strip() or entry.tool_calls else []


def _call_part(call: ToolCall, origin: Origin, details: JsonObject | None) -> ToolCallPart:
    return ToolCallPart(
        tool_name=_wire_name(call.name),
        args=_wire_arguments(call),
        tool_call_id=_wire_id(call.id, origin),
        provider_name=origin.system,
        provider_details=details,
    )


def _wire_id(call_id: str, origin: Origin) -> str:
    fit = clean_text(call_id)
    # Mistral takes no other ids than nine letters and digits.
    return hashlib.sha256(fit.encode()).hexdigest()[:9] if origin.system == "mistral" else fit


def _wire_name(name: str) -> str:
    # A name that the model made up comes back with its call, and one 400 would come back for ever.
    return _UNFIT_IN_NAME.sub("_", name)[:_LONGEST_NAME] or "unnamed"


def _wire_arguments(call: ToolCall) -> JsonObject:
    return _clean_object(call.args if isinstance(call.args, dict) else {INVALID_JSON: call.args})


def _clean_object(value: JsonObject) -> JsonObject:
    cleaned: JsonValue = clean_json(value)
    return cleaned if isinstance(cleaned, dict) else {}


def _raw_arguments(call: ToolCallPart) -> str:
    return call.args if isinstance(call.args, str) else json.dumps(call.args or {}, ensure_ascii=False)
