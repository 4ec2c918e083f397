"""What a request probably cost where nobody says: the model adapters fall back on this."""

from __future__ import annotations

from collections.abc import Iterable

from nonoka.records.model import ModelRequest, RequestedCall
from nonoka.records.runtime import RuntimeUsage

#: English text and code come to about four characters a token; other scripts to fewer.
CHARS_PER_TOKEN = 4


def estimated_usage(request: ModelRequest, text: str, calls: Iterable[RequestedCall]) -> RuntimeUsage:
    """Tokens in and out, counted by characters and marked as an estimate."""
    asked = len(request.instructions) + sum(
        len(entry.content) + sum(len(call.name) + len(str(call.args)) for call in entry.tool_calls)
        for entry in request.entries
    )
    told = sum(len(tool.name) + len(tool.description) + len(str(tool.parameters)) for tool in request.tools)
    answered = len(text) + sum(len(call.name) + len(call.arguments) for call in calls)
    return RuntimeUsage(input_tokens=_tokens(asked + told), output_tokens=_tokens(answered), estimated=True)


def _tokens(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)
