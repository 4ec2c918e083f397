"""Whether a chat completions request is one that a strict server takes. Tests hand it what a server got."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from openai.types.chat import ChatCompletionMessageParam
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter

from tests.support.openai_server import Request

Json = dict[str, Any]

#: OpenAI's rule for the names of functions.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_message: TypeAdapter[Any] = TypeAdapter(ChatCompletionMessageParam)
_request: TypeAdapter[Any] = TypeAdapter(CompletionCreateParamsStreaming)


def check_valid(request: Request) -> None:
    """Fails, saying why, unless the body is strict JSON in strict UTF-8 of the official client's types."""
    body = strictly_parsed(request.raw)
    _consumed(_request.validate_python(body))
    for message in body["messages"]:
        _consumed(_message.validate_python(message))
    check_calls_answered(body["messages"])


def strictly_parsed(raw: bytes) -> Json:
    """The JSON, which has no NaN, no NUL, no lone surrogate (escaped or not) and no key twice."""
    body: Json = json.loads(
        raw.decode("utf-8", "strict"), parse_constant=_no_constant, object_pairs_hook=_no_key_twice
    )
    for text in _texts(body):
        text.encode("utf-8", "strict")
        assert "\x00" not in text
    return body


def check_calls_answered(messages: list[Json]) -> None:
    """Each call of each message has exactly one tool message right after it, and no tool message is left over."""
    at = 0
    while at < len(messages):
        calls = messages[at].get("tool_calls") or []
        ids = [call["id"] for call in calls]
        assert len(set(ids)) == len(ids), f"message {at} has a call id twice: {ids}"
        assert all(ids), f"message {at} has an empty call id"
        for call in calls:
            assert _NAME.fullmatch(call["function"]["name"]), f"message {at}: {call['function']['name']!r}"
            arguments = json.loads(call["function"]["arguments"], parse_constant=_no_constant)
            assert isinstance(arguments, dict), f"message {at}: arguments are {arguments!r}"
        answered = messages[at + 1 : at + 1 + len(ids)]
        assert [answer.get("tool_call_id") for answer in answered] == ids, f"message {at}: {answered}"
        assert all(answer["role"] == "tool" for answer in answered)
        at += 1 + len(ids)
        assert at >= len(messages) or messages[at]["role"] != "tool", f"message {at} answers no call"


def _consumed(value: object) -> None:
    # pydantic validates an Iterable as it is read.
    if isinstance(value, Mapping):
        for item in value.values():
            _consumed(item)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for item in value:
            _consumed(item)


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _no_constant(name: str) -> NoReturn:
    raise AssertionError(f"{name} is no JSON")


def _no_key_twice(pairs: list[tuple[str, Any]]) -> Json:
    assert len({key for key, _ in pairs}) == len(pairs), f"a key twice: {pairs}"
    return dict(pairs)
