"""The inputs of a plan: what was given against what was declared. The command line and the runner call this."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from nonoka.decisions.json_schema import mismatches
from nonoka.decisions.plan_fault import nearest, written
from nonoka.decisions.plan_values import unstorable
from nonoka.errors import PlanInvalid
from nonoka.records.base import JsonObject
from nonoka.records.plan import PlanInput

_JSON_TYPES = {"list": "array"}


def checked_inputs(
    declared: Mapping[str, PlanInput], given: Mapping[str, JsonValue], texts: Iterable[str] = ()
) -> dict[str, JsonValue]:
    """A value for each declared input: from ``texts`` (``name=value``), else from ``given``, else its default.

    A text is read by the declared type: a string as it is, anything else as JSON. Raises PlanInvalid with all
    that is wrong.
    """
    errors: list[str] = []
    values = dict(given) | _read(declared, texts, errors)
    for name in values:
        if name not in declared:
            errors.append(
                f"input {name!r}: the plan has no such input{nearest(name, declared) or _listed(declared)}"
            )
    for name, input_ in declared.items():
        if name in values:
            errors += [f"input {name!r}: {wrong}" for wrong in input_faults(input_, values[name])]
        elif input_.required and not any(error.startswith(f"input {name!r}:") for error in errors):
            errors.append(f"input {name!r}: not given; say --input {name}=…{_wanted(input_)}")
    if errors:
        raise PlanInvalid(errors)
    return {name: values.get(name, input_.default) for name, input_ in declared.items()}


def input_faults(input_: PlanInput, value: JsonValue) -> list[str]:
    """Why the value is not of the input's type, or can't be stored; empty if neither is so."""
    unfit = [f"{written(path)} {why}".strip() for path, why in unstorable(value)]
    return unfit or _type_faults(input_, value)


def _type_faults(input_: PlanInput, value: JsonValue) -> list[str]:
    if value is None and not input_.required:
        return []
    return [f"{written(path)} {message}".strip() for path, message in mismatches(value, input_schema(input_))]


def input_schema(input_: PlanInput) -> JsonObject:
    """The JSON Schema of what may be given."""
    return {} if input_.type == "any" else {"type": _JSON_TYPES.get(input_.type, input_.type)}


def _read(declared: Mapping[str, PlanInput], texts: Iterable[str], errors: list[str]) -> dict[str, JsonValue]:
    values: dict[str, JsonValue] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name:
            errors.append(f"input {text!r}: give it as name=value")
        elif name in values:
            errors.append(f"input {name!r}: given twice")
        elif name not in declared:
            values[name] = value
        else:
            try:
                values[name] = parsed(declared[name], value)
            except ValueError:
                errors.append(
                    f"input {name!r}: {value[:60]!r} is not {_article(declared[name].type)}{_how(declared[name])}"
                )
    return values


def parsed(input_: PlanInput, text: str) -> JsonValue:
    """The text as a value of the input's type; of type "any" as JSON if it is JSON. Raises ValueError."""
    if input_.type == "string":
        return text
    try:
        value: JsonValue = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        if input_.type == "any":
            return text
        raise ValueError(f"not JSON: {text[:60]!r}") from None
    if _type_faults(input_, value):
        raise ValueError(f"not {_article(input_.type)}")
    return value


def _refused(name: str) -> JsonValue:
    raise ValueError(f"{name} is not JSON")


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _how(input_: PlanInput) -> str:
    return {
        "boolean": "; write true or false",
        "list": '; write JSON, such as ["a", "b"]',
        "object": '; write JSON, such as {"a": 1}',
    }.get(input_.type, "")


def _wanted(input_: PlanInput) -> str:
    kind = "" if input_.type == "any" else f" ({_article(input_.type)})"
    return f"{kind}{': ' + input_.description if input_.description else ''}"


def _listed(declared: Mapping[str, PlanInput]) -> str:
    return f"; its inputs are {', '.join(declared)}" if declared else "; it has none"
