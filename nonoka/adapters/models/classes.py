"""pydantic-ai's classes by the names that the table of providers gives. The openers call this."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.profiles.openai import OpenAIModelProfile

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
        return partial(found, profile=_CHAT)
    if issubclass(found, OpenAIResponsesModel):
        return partial(found, settings=_RESPONSES)
    return found


def _found(package: str, name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(f"{package}.{module}"), attribute)
