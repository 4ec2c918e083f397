"""Whether a tool step names a tool that there is, with arguments that it takes. Used by plan_check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from nonoka.decisions.json_schema import Open, mismatches
from nonoka.decisions.plan_fault import Fault, Path, nearest, written
from nonoka.decisions.plan_references import Reference, parse_text
from nonoka.errors import ExpressionInvalid
from nonoka.records.base import JsonObject
from nonoka.records.plan import Step


def argument_faults(step: Step, tool: str, tools: Mapping[str, JsonObject], place: Path) -> Iterator[Fault]:
    """Why this call can't be made; what a reference will bring counts as fitting."""
    schema = tools.get(tool)
    if schema is None:
        there = f"; the tools are {', '.join(tools)}" if tools else "; there is none"
        yield Fault(
            (*place, "tool"), f"step {step.id!r}: there is no tool {tool!r}{nearest(tool, tools) or there}"
        )
        return
    # a format is the tool's own to judge: pydantic takes a UUID without dashes, the format's definition doesn't
    for path, message in mismatches(opened(step.args), schema, (*place, "args"), formats=False):
        argument = written(path[len(place) + 1 :])
        yield Fault(path, f"step {step.id!r}: {tool}: {f'{argument}: ' if argument else ''}{message}")


def opened(value: JsonValue) -> object:
    """The value with ``Open`` for each text that holds references, and literal text as it will be."""
    if isinstance(value, dict):
        return {key: opened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [opened(item) for item in value]
    return _opened_text(value) if isinstance(value, str) and "${" in value else value


def _opened_text(text: str) -> str | Open:
    try:
        parts = parse_text(text)
    except ExpressionInvalid:
        return Open()
    if any(isinstance(part, Reference) for part in parts):
        return Open(is_text=len(parts) > 1)
    return "".join(map(str, parts))
