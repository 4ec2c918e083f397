"""pydantic-ai's classes by the names that the table of providers gives. The openers call this."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from openai.types.chat.chat_completion_chunk import Choice
from pydantic_ai.messages import ModelResponseStreamEvent
from pydantic_ai.models import Model
from pydantic_ai.models.openai import (
    OpenAIChatModel,
    OpenAIResponsesModel,
    OpenAIResponsesModelSettings,
    OpenAIStreamedResponse,
)
from pydantic_ai.profiles.openai import OpenAIModelProfile

from nonoka.adapters.models.calls_apart import CallNumbers

#: A stream that ends without a finish reason was cut, however politely the connection closed.
_CHAT = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
#: Nothing is left at the server that a later request would need: the session is the whole conversation.
_RESPONSES = OpenAIResponsesModelSettings(openai_store=False)


def provider_class(name: str) -> Callable[..., Any]:
    """The class of a provider, such as ``deepseek:DeepSeekProvider``. Raises ImportError."""
    found: Callable[..., Any] = _found("pydantic_ai.providers", name)
    return found


def model_class(name: str) -> Callable[..., Model]:
    """The class of a model, such as ``openai:OpenAIChatModel``, set up for our requests. Raises ImportError."""
    found: type[Model] = _found("pydantic_ai.models", name)
    if issubclass(found, OpenAIChatModel):
        return partial(_with_calls_apart(found), profile=_CHAT)
    if issubclass(found, OpenAIResponsesModel):
        return partial(found, settings=_RESPONSES)
    return found


@cache
def _with_calls_apart(found: type[OpenAIChatModel]) -> type[OpenAIChatModel]:
    class CallsApart(found):  # type: ignore[valid-type, misc]  # whichever class the table names
        @property
        def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
            return _reading_calls_apart(super()._streamed_response_cls)

    return CallsApart


@cache
def _reading_calls_apart(found: type[OpenAIStreamedResponse]) -> type[OpenAIStreamedResponse]:
    class ReadingCallsApart(found):  # type: ignore[valid-type, misc]
        def _map_tool_call_delta(self, choice: Choice) -> Iterable[ModelResponseStreamEvent]:
            numbers: CallNumbers = self.__dict__.setdefault("_call_numbers", CallNumbers())
            for piece in choice.delta.tool_calls or []:
                asked = piece.function
                if isinstance(piece.index, int):  # some servers leave it out
                    name, arguments = (asked.name or "", asked.arguments or "") if asked else ("", "")
                    piece.index = numbers.number(piece.index, piece.id or "", name, arguments)
            events: Iterable[ModelResponseStreamEvent] = super()._map_tool_call_delta(choice)
            return events

    return ReadingCallsApart


def _found(package: str, name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(f"{package}.{module}"), attribute)
