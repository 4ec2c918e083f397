"""Whether the strictest provider would take these messages: judged as they leave for it, knowing no repair."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pydantic_ai.messages import ModelMessage, ModelResponse, RetryPromptPart, ToolReturnPart

_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")


def refusal(messages: Sequence[ModelMessage]) -> str | None:
    """Why it would refuse them; None if it would not."""
    waiting: list[str] = []
    used: set[str] = set()
    for number, (kind, ids) in enumerate(_said(messages)):
        if kind == "tool":
            if waiting[:1] != ids:
                return f"{number}: a result of {ids}, where {waiting or 'none'} was waited for"
            waiting.pop(0)
            continue
        if waiting:
            return f"{number}: {waiting} got no result"
        for one in ids:
            if not _ID.fullmatch(one) or one in used:
                return f"{number}: the id {one!r} is refused"
            used.add(one)
        waiting = list(ids)
    return f"{waiting} got no result" if waiting else None


def _said(messages: Sequence[ModelMessage]) -> Iterator[tuple[str, list[str]]]:
    for message in messages:
        if isinstance(message, ModelResponse):
            yield "assistant", [call.tool_call_id for call in message.tool_calls]
            continue
        for part in message.parts:
            answers = isinstance(part, ToolReturnPart | RetryPromptPart)
            yield ("tool", [part.tool_call_id]) if answers else ("other", [])
