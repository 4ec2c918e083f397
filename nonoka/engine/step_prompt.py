"""A plan's step that asks a model once, and again where the answer doesn't fit its schema."""

from __future__ import annotations

import asyncio
import json
import re

from pydantic import JsonValue

from nonoka.decisions.json_schema import mismatches
from nonoka.decisions.plan_fault import written
from nonoka.engine.ports import Ports
from nonoka.records.base import JsonObject
from nonoka.records.commit import SessionView
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.model import ModelRequest
from nonoka.records.plan import Step
from nonoka.records.runtime import RuntimeUsage
from nonoka.records.step import StepError, StepOutcome, StepValueGot

#: How often one attempt asks, where an answer doesn't fit.
MAX_REQUESTS = 3
_FENCE = re.compile(r"\A\s*```[a-zA-Z]*\n(.*)\n```\s*\Z", re.DOTALL)
_WRONG_SHOWN = 5


async def answered(
    ports: Ports, view: SessionView, step: Step, prompt: str, output: JsonObject | None
) -> StepOutcome:
    """What the model says to the prompt: its text, or with ``output`` the value that fits that schema.

    Raises ModelFailure.
    """
    usage = RuntimeUsage()
    entries = [MemoryEntry(position=0, role=MemoryRole.USER, content=prompt)]
    wrong = ""
    try:
        async with asyncio.timeout(step.timeout_s):
            for _ in range(MAX_REQUESTS):
                text, used = await _asked(ports, view, step.id, entries, output)
                usage = usage.plus(used)
                if output is None:
                    return StepValueGot(value=text, usage=usage)
                value, wrong = _fitting(text, output)
                if not wrong:
                    return StepValueGot(value=value, usage=usage)
                entries += _told_wrong(text, wrong, len(entries))
    except TimeoutError:
        message = f"the model was not asked any longer after its {step.timeout_s:g} s"
        return StepError(error_type="timeout", message=message, usage=usage)
    message = f"after {MAX_REQUESTS} requests the answer still doesn't fit the step's output: {wrong}"
    return StepError(error_type="invalid_output", message=message, usage=usage)


async def _asked(
    ports: Ports, view: SessionView, step: str, entries: list[MemoryEntry], output: JsonObject | None
) -> tuple[str, RuntimeUsage]:
    model = await ports.models.get(view.index.model)
    deadline = view.state.runtime_state.deadline_at
    answer = await model.respond(
        ModelRequest(
            session_id=view.task.session_id,
            instructions=_instructions(output),
            entries=tuple(entries),
            retries=view.task.retries,
            timeout_ms=None if deadline is None else max(1, deadline - ports.clock.now_ms()),
            step=step,
        ),
        _unheard,
    )
    return answer.text, answer.usage.model_copy(update={"model_turns": 1, "tool_calls": 0, "active_ms": 0})


def _instructions(output: JsonObject | None) -> str:
    if output is None:
        return ""
    schema = json.dumps(output, ensure_ascii=False)
    return f"Answer with one JSON value alone, without any other text, that fits this JSON Schema:\n{schema}"


def _fitting(text: str, schema: JsonObject) -> tuple[JsonValue, str]:
    fenced = _FENCE.match(text)
    try:
        value: JsonValue = json.loads(fenced.group(1) if fenced else text)
    except (ValueError, RecursionError) as error:
        return None, f"it is not JSON ({error})"
    faults = [f"{written(path)} {message}".strip() for path, message in mismatches(value, schema)]
    return value, "; ".join(faults[:_WRONG_SHOWN])


def _told_wrong(text: str, wrong: str, position: int) -> list[MemoryEntry]:
    again = f"That doesn't fit: {wrong}. Answer again, with the JSON value alone."
    return [
        MemoryEntry(position=position, role=MemoryRole.ASSISTANT, content=text),
        MemoryEntry(position=position + 1, role=MemoryRole.USER, content=again),
    ]


async def _unheard(text: str) -> None:
    """Nobody follows a step's text as it streams."""
