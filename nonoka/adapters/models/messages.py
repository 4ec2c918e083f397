"""Our conversation as pydantic-ai's messages, and its response as our answer. The OpenAI adapter calls this."""

from __future__ import annotations

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
from nonoka.records import model as ours
from nonoka.records.base import JsonObject
from nonoka.records.memory import MemoryEntry, MemoryRole, ToolCall

#: Strict servers take arguments only as a JSON object; what isn't one travels under this key.
INVALID_JSON = "INVALID_JSON"

_UNFIT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")
#: The longest function name that OpenAI accepts in a request.
_LONGEST_NAME = 64


def to_messages(request: ours.ModelRequest, origin: str) -> list[ModelMessage]:
    """The conversation for the wire, with our call ids; an assistant entry that says nothing is left out.

    ``origin`` names provider and server: notes that another one left are not sent.
    """
    messages: list[ModelMessage] = []
    for entry in request.entries:
        if entry.role is MemoryRole.ASSISTANT:
            if said := _response_parts(entry, origin):
                messages.append(ModelResponse(parts=said, provider_name=provider_notes.PROVIDER))
        elif messages and isinstance(last := messages[-1], ModelRequest):
            last.parts = [*last.parts, _request_part(entry)]
        else:
            messages.append(ModelRequest(parts=[_request_part(entry)]))
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


def _request_part(entry: MemoryEntry) -> ModelRequestPart:
    content = clean_text(entry.content)
    match entry.role:
        case MemoryRole.SYSTEM:
            return SystemPromptPart(content=content)
        case MemoryRole.TOOL:
            name = entry.metadata.get("name")
            return ToolReturnPart(
                tool_name=_wire_name(name if isinstance(name, str) else ""),
                content=content,
                tool_call_id=clean_text(entry.tool_call_id or ""),
            )
        case _:
            return UserPromptPart(content=content)


def _response_parts(entry: MemoryEntry, origin: str) -> list[ModelResponsePart]:
    notes = provider_notes.read(entry, origin)
    parts: list[ModelResponsePart] = [*notes.thinking]
    if entry.content:
        parts.append(TextPart(content=clean_text(entry.content)))
    parts += [
        ToolCallPart(
            tool_name=_wire_name(call.name),
            args=_wire_arguments(call),
            tool_call_id=clean_text(call.id),
            provider_name=provider_notes.PROVIDER,
            provider_details=notes.call_details.get(place),
        )
        for place, call in enumerate(entry.tool_calls)
    ]
    return parts if entry.content or entry.tool_calls else []


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
