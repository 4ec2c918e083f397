"""Whether a JSON Schema is one: a plan's author may have written it. plan_check calls this."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nonoka.decisions.json_schema import TYPES, is_number, kind, referred
from nonoka.decisions.plan_fault import Fault, Path

_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMA_MAPS = ("properties", "$defs", "definitions", "patternProperties")
_SCHEMAS = ("items", "not", "additionalProperties", "contains", "propertyNames", "if", "then", "else")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def schema_faults(schema: object, path: Path = ()) -> list[Fault]:
    """What is wrong with the schema itself; empty if nothing is."""
    return list(_schema_faults(schema, schema, path))


def _schema_faults(schema: object, root: object, path: Path) -> Iterator[Fault]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield Fault(path, f"a schema is an object, not {kind(schema)}")
        return
    yield from _keyword_faults(schema, path)
    if "$ref" in schema and referred(root, schema["$ref"]) is None:
        yield Fault((*path, "$ref"), f"{schema['$ref']!r} leads nowhere in this schema")
    for word in _SCHEMA_LISTS:
        if word in schema:
            parts = schema[word]
            if not isinstance(parts, list) or not parts:
                yield Fault((*path, word), f"{word} is a list of schemas")
                continue
            for place, part in enumerate(parts):
                yield from _schema_faults(part, root, (*path, word, place))
    for word in _SCHEMA_MAPS:
        if word in schema:
            if not isinstance(schema[word], dict):
                yield Fault((*path, word), f"{word} is an object of schemas by name")
                continue
            for name, part in schema[word].items():
                yield from _schema_faults(part, root, (*path, word, name))
    for word in _SCHEMAS:
        if word in schema:
            yield from _schema_faults(schema[word], root, (*path, word))


def _keyword_faults(schema: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    types = schema.get("type")
    for name in types if isinstance(types, list) else [types] if "type" in schema else []:
        if not isinstance(name, str) or name not in TYPES:
            yield Fault((*path, "type"), f"there is no type {name!r}; the types are {', '.join(TYPES)}")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        yield Fault((*path, "required"), "required is a list of names")
    if not isinstance(schema.get("enum", [None]), list) or schema.get("enum") == []:
        yield Fault((*path, "enum"), "enum is a list of values")
    for word in _COUNTS:
        count = schema.get(word, 0)
        if not TYPES["integer"](count) or count < 0:
            yield Fault((*path, word), f"{word} is a whole number from 0 on")
    for word in _LIMITS:
        if not is_number(schema.get(word, 1)) or (word == "multipleOf" and schema.get(word, 1) <= 0):
            yield Fault((*path, word), f"{word} is a number" + (" above 0" if word == "multipleOf" else ""))
    members = schema.get("patternProperties")
    named: list[tuple[Path, object]] = [(("pattern",), schema["pattern"])] if "pattern" in schema else []
    named += [(("patternProperties", name), name) for name in members] if isinstance(members, dict) else []
    for place, pattern in named:
        if not _is_pattern(pattern):
            yield Fault((*path, *place), f"{pattern!r} is not a regular expression")


def _is_pattern(text: object) -> bool:
    try:
        re.compile(text)  # type: ignore[call-overload]
    except (re.error, TypeError, OverflowError, RecursionError):
        return False
    return True
