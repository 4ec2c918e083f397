"""A language model: one request, one answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from nonoka.records.model import ModelAnswer, ModelRequest

OnText = Callable[[str], Awaitable[None]]


class Model(Protocol):
    """One configured model."""

    async def respond(self, request: ModelRequest, on_text: OnText) -> ModelAnswer:
        """Ask once: one attempt is one request on the wire. ``on_text`` hears the text as it streams.

        Raises ModelFailure. Cancelling the call drops the request.
        """


class Models(Protocol):
    """Finds the model that a session names."""

    def normalized(self, name: str) -> str:
        """The name as it is stored, so that it means the same in every worker. Raises UsageError."""

    def check(self, name: str) -> None:
        """Raise UsageError, saying which variable to set, where this process can't ask that model."""

    async def get(self, name: str) -> Model:
        """The model by its stored name, loaded at first use. Raises ModelFailure where it can't be set up."""
