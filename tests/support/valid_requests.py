"""Whether a chat completions request is one that a strict server takes. Tests hand it what a server got."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from openai.types.chat import ChatCompletionMessageParam
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter

from tests.support.call_order import check_calls_answered, no_constant
from tests.support.openai_server import Request

Json = dict[str, Any]

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
        raw.decode("utf-8", "strict"), parse_constant=no_constant, object_pairs_hook=_no_key_twice
    )
    for text in _texts(body):
        text.encode("utf-8", "strict")
        assert "\x00" not in text
    return body


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


def _no_key_twice(pairs: list[tuple[str, Any]]) -> Json:
    assert len({key for key, _ in pairs}) == len(pairs), f"a key twice: {pairs}"
    return dict(pairs)
