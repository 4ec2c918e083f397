"""References in a plan's values: ``${step.path}``, found in text and put in place. The engine resolves with this.

``$${`` is a literal ``${``. A path is made of ``.name``, ``[0]`` (``[-1]`` is the last) and ``["any key"]``.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from nonoka.errors import ExpressionInvalid, ValueMissing


class NoResult(enum.Enum):
    """What a lookup gives for a step that ended without a result: null, at any path."""

    NO_RESULT = "no result"


NO_RESULT: Final = NoResult.NO_RESULT

#: The value of a step, or of "inputs", "item" or "index".
Lookup = Callable[[str], JsonValue | NoResult]
#: Heads that name no step.
INPUTS, ITEM, INDEX = "inputs", "item", "index"
RESERVED = frozenset({INPUTS, ITEM, INDEX})

_HEAD = re.compile(r"[^\W\d][\w-]*")
_NAME = re.compile(r"\.([\w-]+)")
_INDEX = re.compile(r"\[(-?[0-9]{1,18})\]")
_KEY = re.compile(r"\[(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')\]", re.DOTALL)
_LITERAL_HINT = "for a literal ${ write $${"


@dataclass(frozen=True, slots=True)
class Reference:
    """A place in a value: ``head`` is a step's id or "inputs", "item", "index"."""

    head: str
    path: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        return f"${{{self.head}{''.join(map(_written, self.path))}}}"


def parse_reference(text: str, start: int = 0) -> tuple[Reference, int]:
    """The reference that begins with ``${`` at ``start``, and where it ends. Raises ExpressionInvalid."""
    head = _HEAD.match(text, start + 2)
    if head is None:
        raise ExpressionInvalid(f"after ${{ comes a step's id, inputs, item or index; {_LITERAL_HINT}", start + 2)
    place, path = head.end(), []
    while not text.startswith("}", place):
        segment, place = _segment(text, place, start)
        path.append(segment)
    return Reference(head.group(), tuple(path)), place + 1


def ref(path: str) -> str:
    """A reference for a plan written in Python: ``ref("fetch.items[0]")`` is ``${fetch.items[0]}``.

    Raises ExpressionInvalid where the path is none.
    """
    reference, end = parse_reference(f"${{{path}}}")
    if end != len(path) + 3:
        raise ExpressionInvalid(f"{path!r} is no path to a value", end - 3)
    return str(reference)


def parse_text(text: str) -> tuple[str | Reference, ...]:
    """The text as its literal parts, with ``$${`` put right, and its references. Raises ExpressionInvalid."""
    parts: list[str | Reference] = []
    literal, place = "", 0
    while (found := text.find("${", place)) >= 0:
        if found > place and text[found - 1] == "$":
            literal += text[place : found - 1] + "${"
            place = found + 2
            continue
        literal += text[place:found]
        if literal:
            parts.append(literal)
        reference, place = parse_reference(text, found)
        parts.append(reference)
        literal = ""
    literal += text[place:]
    return (*parts, literal) if literal else tuple(parts)


def whole_reference(text: str) -> Reference | None:
    """The reference that the text consists of, if it is one and nothing else."""
    if not text.startswith("${"):
        return None
    parts = parse_text(text)
    return parts[0] if len(parts) == 1 and isinstance(parts[0], Reference) else None


def references_in(value: JsonValue) -> tuple[Reference, ...]:
    """Each reference anywhere in the value, keys of objects excepted, in order. Raises ExpressionInvalid."""
    return tuple(_found(value))


def resolve(value: JsonValue, lookup: Lookup) -> JsonValue:
    """The value with each reference replaced by what it refers to; keys of objects stay as they are.

    A reference that is the whole text keeps its type; within text it becomes text, JSON for all but strings.
    Raises ValueMissing where a path finds nothing.
    """
    if isinstance(value, str):
        return _resolved_text(value, lookup)
    if isinstance(value, list):
        return [resolve(item, lookup) for item in value]
    if isinstance(value, dict):
        return {key: resolve(item, lookup) for key, item in value.items()}
    return value


def value_of(reference: Reference, lookup: Lookup) -> JsonValue:
    """What the reference refers to. Raises ValueMissing, saying which part of the path found what."""
    value = lookup(reference.head)
    if isinstance(value, NoResult):
        return None
    for depth, segment in enumerate(reference.path):
        value = _member(value, segment, reference, depth)
    return value


def escaped(text: str) -> str:
    """The text written so that it stands for itself in a plan."""
    return text.replace("${", "$${")


def as_text(value: JsonValue) -> str:
    """A value as it appears within text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _found(value: JsonValue) -> Iterator[Reference]:
    if isinstance(value, str):
        yield from (part for part in parse_text(value) if isinstance(part, Reference))
    elif isinstance(value, list):
        for item in value:
            yield from _found(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _found(item)


def _resolved_text(text: str, lookup: Lookup) -> JsonValue:
    if "${" not in text:
        return text
    parts = parse_text(text)
    if len(parts) == 1 and isinstance(parts[0], Reference):
        return value_of(parts[0], lookup)
    return "".join(part if isinstance(part, str) else as_text(value_of(part, lookup)) for part in parts)


def _segment(text: str, place: int, start: int) -> tuple[str | int, int]:
    if match := _NAME.match(text, place):
        return match.group(1), match.end()
    if match := _INDEX.match(text, place):
        return int(match.group(1)), match.end()
    if match := _KEY.match(text, place):
        return _unquoted(match.group(1)), match.end()
    if place >= len(text):
        raise ExpressionInvalid(f"a reference that is not closed: {text[start : start + 40]!r}", start)
    raise ExpressionInvalid(
        f'{text[place : place + 12]!r} is no part of a reference; after a name comes .name, [0], ["key"]'
        f" or }}; {_LITERAL_HINT}",
        place,
    )


def _unquoted(quoted: str) -> str:
    return re.sub(r"\\(.)", r"\1", quoted[1:-1], flags=re.DOTALL)


def _written(segment: str | int) -> str:
    if isinstance(segment, int):
        return f"[{segment}]"
    if re.fullmatch(r"[\w-]+", segment):
        return f".{segment}"
    return '["' + segment.replace("\\", "\\\\").replace('"', '\\"') + '"]'


def _member(value: JsonValue, segment: str | int, reference: Reference, depth: int) -> JsonValue:
    if isinstance(value, dict) and isinstance(segment, str) and segment in value:
        return value[segment]
    if isinstance(value, list) and isinstance(segment, int) and -len(value) <= segment < len(value):
        return value[segment]
    so_far = str(Reference(reference.head, reference.path[:depth]))
    raise ValueMissing(f"{reference} has no value: {so_far} is {_described(value)}, without {_wanted(segment)}")


def _wanted(segment: str | int) -> str:
    return f"[{segment}]" if isinstance(segment, int) else repr(segment)


def _described(value: JsonValue) -> str:
    if isinstance(value, dict):
        keys = ", ".join(repr(key[:40]) for key in list(value)[:8]) + (", …" if len(value) > 8 else "")
        return f"an object with {keys}" if keys else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"
