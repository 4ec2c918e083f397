"""``script:FILE``: a model that answers from a file, for demos, tests and benchmarks. The catalog loads this.

A turn takes the response whose index is the number of assistant entries so far, so a replayed turn gets the
same answer again.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from nonoka.adapters.models import failures
from nonoka.adapters.models.clean_text import clean_answer
from nonoka.adapters.models.estimate import estimated_usage
from nonoka.adapters.models.script_file import (
    Responses,
    ScriptedCall,
    ScriptedError,
    ScriptedResponse,
    read_script,
    state_of,
)
from nonoka.errors import ModelFailure, UsageError
from nonoka.ports.model import OnText
from nonoka.records.memory import MemoryRole
from nonoka.records.model import ModelAnswer, ModelRequest, RequestedCall
from nonoka.records.runtime import RuntimeUsage

#: Into how many pieces a text is cut for whoever listens.
_CHUNKS = 4
#: Of how many conversations the count of answers is remembered.
_COUNTED = 4096


class ScriptModel:
    """The model behind one script; the file is read again when it has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._asked = failures.Asked(model=path.name, server=f"script {str(path)!r}")
        self._answers = _Answers()
        self._state: tuple[int, int] | None = None
        self._read: Responses = ()
        self._steps: dict[str, Responses] = {}

    async def respond(self, request: ModelRequest, on_text: OnText) -> ModelAnswer:
        """Give the response that is this turn's, after its delay. Raises ModelFailure as scripted."""
        scripted = await self._response(request)
        await self._wait(scripted.delay_s, request.timeout_ms)
        error = scripted.error
        if error is not None and (error.times is None or request.retries < error.times):
            for chunk in _first_half(scripted.text) if error.kind == "drop" else ():
                await on_text(chunk)
            raise self._failure(error)
        if not scripted.text.strip() and not scripted.tool_calls:
            raise failures.empty_answer(self._asked)
        answer = _answer(scripted, request, self._path.name)
        for chunk in _chunks(answer.text):
            await on_text(chunk)
        return answer

    async def _response(self, request: ModelRequest) -> ScriptedResponse:
        responses = await self._responses(request.step)
        index = self._answers.number(request)
        if index < len(responses):
            return responses[index]
        raise ModelFailure(
            "script_ended",
            f"script {str(self._path)!r} has ended: there is no response {index + 1} of {len(responses)}; add it",
            transient=False,
        )

    async def _responses(self, step: str | None) -> Responses:
        try:
            state = state_of(self._path)
            if state != self._state:
                self._read, self._steps = await asyncio.to_thread(read_script, self._path)
                self._state = state
        except UsageError as error:
            raise failures.not_set_up(str(error)) from error
        return self._read if step is None else self._steps.get(step, self._read)

    async def _wait(self, delay_s: float, timeout_ms: int | None) -> None:
        if timeout_ms is not None and timeout_ms < delay_s * 1000:
            await asyncio.sleep(timeout_ms / 1000)
            raise failures.timed_out(self._asked, f"no answer within {timeout_ms / 1000:g} s")
        await asyncio.sleep(delay_s)

    def _failure(self, error: ScriptedError) -> ModelFailure:
        if error.status is not None:
            return failures.failure_of_status(
                self._asked, error.status, "as scripted", retry_after_s=error.retry_after_s
            )
        if error.kind == "timeout":
            return failures.timed_out(self._asked, "no answer came, as scripted")
        return failures.cut_off(self._asked, "the connection dropped, as scripted")


class _Answers:
    """How many answers each conversation holds, counted on from where it was last counted."""

    def __init__(self) -> None:
        self._counted: OrderedDict[str, tuple[int, int, int]] = OrderedDict()

    def number(self, request: ModelRequest) -> int:
        """The assistant entries of the request."""
        entries = request.entries
        if request.step is not None:  # short, and many of one session at once
            return sum(entry.role is MemoryRole.ASSISTANT for entry in entries)
        length, last, number = self._counted.pop(request.session_id, (0, 0, 0))
        if length > len(entries) or (length and entries[length - 1].position != last):
            length, number = 0, 0
        number += sum(entry.role is MemoryRole.ASSISTANT for entry in islice(entries, length, None))
        self._counted[request.session_id] = len(entries), entries[-1].position if entries else 0, number
        if len(self._counted) > _COUNTED:
            self._counted.popitem(last=False)
        return number


def _answer(scripted: ScriptedResponse, request: ModelRequest, model: str) -> ModelAnswer:
    calls = tuple(_requested(call) for call in scripted.tool_calls)
    if scripted.usage is None:
        usage = estimated_usage(request, scripted.text, calls)
    else:
        usage = RuntimeUsage(**scripted.usage.model_dump())
    return clean_answer(ModelAnswer(text=scripted.text, calls=calls, usage=usage, model=model))


def _requested(call: ScriptedCall) -> RequestedCall:
    arguments = call.args if isinstance(call.args, str) else json.dumps(call.args, ensure_ascii=False)
    return RequestedCall(model_id=call.id, name=call.name, arguments=arguments)


def _chunks(text: str) -> Iterator[str]:
    length = max(1, -(-len(text) // _CHUNKS))
    return (text[start : start + length] for start in range(0, len(text), length))


def _first_half(text: str) -> Iterator[str]:
    return _chunks(text[: len(text) // 2])
