"""A model that says what a test has written down, and keeps what it was asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict

from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.ports.model import Model, OnText
from nonoka.records.base import JsonObject
from nonoka.records.model import ModelAnswer, ModelRequest


class _Named(TypedDict):
    name: str


class Call(_Named, total=False):
    """A call that the model asks for; ``args`` may be text that is no JSON."""

    id: str
    args: JsonObject | str


class Usage(TypedDict, total=False):
    """What a response is said to have cost."""

    input_tokens: int
    output_tokens: int


class Failure(TypedDict, total=False):
    """What comes in place of a response the first ``times`` times, or always: a ``status`` or a ``kind``."""

    status: int
    kind: Literal["timeout", "drop"]
    retry_after_s: float
    times: int


class Response(TypedDict, total=False):
    """One answer of the model, as in a ``script:`` file (docs/models.md)."""

    text: str
    tool_calls: list[Call]
    delay_s: float
    usage: Usage
    error: Failure


def asks(tool: str, /, **args: object) -> Response:
    """The model asks for one call of this tool."""
    plain: JsonObject = json.loads(json.dumps(args))
    return {"tool_calls": [{"name": tool, "args": plain}]}


class ScriptedModel:
    """Its n-th answer in a session is the n-th of ``responses``; a text alone is a final answer.

    A turn that is taken up again gets the same answer again. ``requests`` are those it was asked so far.
    """

    def __init__(self, responses: Sequence[Response | str] = ()) -> None:
        self.responses: list[Response] = [{"text": one} if isinstance(one, str) else one for one in responses]
        self.requests: list[ModelRequest] = []

    def written_to(self, path: Path) -> str:
        """The name by which sessions find it: its responses lie in this file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.responses), encoding="utf-8")
        return f"script:{path}"


class ScriptedModels:
    """``ports.model.Models`` of a test: scripts alone, for it knows of no key to any other model."""

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model
        self._catalog = ModelCatalog({})

    def normalized(self, name: str) -> str:
        return self._catalog.normalized(name)

    def check(self, name: str) -> None:
        self._catalog.check(name)

    async def get(self, name: str) -> Model:
        return _Recorded(await self._catalog.get(name), self._model)


class _Recorded:
    def __init__(self, inner: Model, model: ScriptedModel) -> None:
        self._inner = inner
        self._model = model

    async def respond(self, request: ModelRequest, on_text: OnText) -> ModelAnswer:
        self._model.requests.append(request)
        return await self._inner.respond(request, on_text)
