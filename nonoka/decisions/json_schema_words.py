"""What jsonschema found wrong, in our words: what is there and what was asked for. json_schema calls this."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from jsonschema import ValidationError

from nonoka.decisions.json_schema import Open
from nonoka.decisions.plan_fault import Fault, Path
from nonoka.decisions.plan_when import same

_SHOWN = 50
_LONGEST = 200
_COUNTED = {
    "minLength": "characters, at least {} are asked for",
    "maxLength": "characters, at most {} are allowed",
    "minItems": "items, at least {} are asked for",
    "maxItems": "items, at most {} are allowed",
    "minProperties": "members, at least {} are asked for",
    "maxProperties": "members, at most {} are allowed",
}
_MEASURED = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
    "multipleOf": "a multiple of",
}
#: Keywords of json_schema_checker that say all there is to say.
_SAID = ("required", "additionalProperties")


def faults_of(errors: Iterable[ValidationError], path: Path) -> list[Fault]:
    """Each error once, with its place under the path."""
    return list(dict.fromkeys(_fault(error, path) for error in _telling(errors)))


def _telling(errors: Iterable[ValidationError]) -> list[ValidationError]:
    # of a value of the wrong type, no more is to be said by the same schema
    found = list(errors)
    mistyped = {_judged(error) for error in found if error.validator == "type"}
    return [error for error in found if error.validator == "type" or _judged(error) not in mistyped]


def _judged(error: ValidationError) -> tuple[tuple[str | int, ...], int]:
    return tuple(error.absolute_path), id(error.schema)


def _fault(error: ValidationError, root: Path) -> Fault:
    path = (*root, *error.absolute_path)
    return _of_no_choice(error, root, path) if error.context else Fault(path, _message(error))


def _of_no_choice(error: ValidationError, root: Path, path: Path) -> Fault:
    # the alternative that went deepest, or failed in least, is what was meant
    tried = list(_by_alternative(error))
    best = min(tried, key=lambda errors: (-_depth(errors[0]), len(errors)))[0]
    if _depth(best) == _depth(error) and all(errors[0].validator == "type" for errors in tried):
        asked = " or ".join(dict.fromkeys(_asked_for(errors[0]) for errors in tried))
        return Fault(path, f"is {kind(error.instance)}, where {asked} is asked for")
    return _fault(best, root)


def _by_alternative(error: ValidationError) -> Iterator[list[ValidationError]]:
    tried: dict[object, list[ValidationError]] = {}
    for each in _telling(error.context or ()):
        tried.setdefault(each.relative_schema_path[0], []).append(each)
    yield from tried.values()


def _depth(error: ValidationError) -> int:
    return len(error.absolute_path)


def _message(error: Any) -> str:
    word, wanted, value = error.validator, error.validator_value, error.instance
    if word == "type":
        return f"is {kind(value)}, where {_asked_for(error)} is asked for"
    if word in _SAID:
        return str(error.message)
    if word in _COUNTED:
        return f"has {len(value)} {_COUNTED[word].format(wanted)}"
    if word in _MEASURED:
        return f"is {shown(value)}, where {_MEASURED[word]} {shown(wanted)} is asked for"
    return _choice_message(word, wanted, value) or _part_message(error) or _shortened(error.message)


def _choice_message(word: object, wanted: Any, value: object) -> str:
    match word:
        case "enum":
            return f"is {shown(value)}, not one of {_shortened(', '.join(map(shown, wanted)))}"
        case "const":
            return f"is {shown(value)}, not {shown(wanted)}"
        case "pattern":
            return f"is {shown(value)}, which {wanted!r} doesn't match"
        case "oneOf":
            return "fits more than one of the alternatives, where one is allowed"
        case "not":
            return "is what the schema excludes" if wanted else "nothing may be here"
        case None:  # the whole schema is false
            return "nothing may be here"
    return ""


def _part_message(error: Any) -> str:
    wanted, value = error.validator_value, error.instance
    match error.validator:
        case "format":
            return str(error.cause) if wanted == "regex" else f"is {shown(value)}, which is no {wanted}"
        case "uniqueItems":
            return f"has {shown(_twice(value))} twice"
        case "contains":
            return "has no item such as the schema asks for"
        case "minContains" | "maxContains" as word:
            most = "at least" if word == "minContains" else "at most"
            return f"has items such as the schema asks for, but {most} {wanted} of them may be there"
        case "items":
            return f"has {len(value)} items, at most {len(error.schema.get('prefixItems', ()))} are allowed"
    return ""


def _twice(items: list[Any]) -> object:
    doubles = (item for place, item in enumerate(items) if any(same(item, other) for other in items[:place]))
    return next(doubles, items)


def _asked_for(error: Any) -> str:
    types = error.validator_value
    return str(types) if isinstance(types, str) else " or ".join(types)


def kind(value: object) -> str:
    """What the value is, in words."""
    match value:
        case Open():
            return "a text with references"
        case None:
            return "null"
        case bool():
            return f"a boolean ({shown(value)})"
        case int():
            return f"an integer ({shown(value)})"
        case float():
            if not math.isfinite(value):
                return shown(value)
            return f"{'an integer' if value.is_integer() else 'a number'} ({shown(value)})"
        case str():
            return f"a string ({shown(value)})"
    return f"{'an array' if isinstance(value, list) else 'an object'} ({shown(value)})"


def shown(value: object) -> str:
    """The value as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=lambda _: "${…}")
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}…"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
