"""JSON Schema, as far as tools and answers use it: whether a value fits. json_schema_check looks at schemas.

A keyword that isn't known here is not checked. ``Open`` stands for what a reference brings only when it runs.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nonoka.decisions.plan_fault import Fault, Path, nearest
from nonoka.decisions.plan_when import same


@dataclass(frozen=True, slots=True)
class Open:
    """A value not known yet; with ``is_text`` it will be a string."""

    is_text: bool = False


TYPES: dict[str, Callable[[object], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: is_number(value) and (isinstance(value, int) or value.is_integer()),  # type: ignore[attr-defined]
    "number": lambda value: is_number(value),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def mismatches(value: object, schema: object, path: Path = ()) -> list[Fault]:
    """Where the value doesn't fit the schema, and why; empty if it does. The schema is one that ``is`` valid."""
    return list(_Check(schema).check(value, schema, path))


class _Check:
    def __init__(self, root: object) -> None:
        self._root = root
        self._open: set[tuple[int, int]] = set()

    def check(self, value: object, schema: object, path: Path) -> Iterator[Fault]:
        if schema is False:
            yield Fault(path, "nothing may be here")
        # a schema that leads back to itself at the same value has nothing more to say of it
        pair = (id(value), id(schema))
        if not isinstance(schema, dict) or pair in self._open or value == Open():
            return
        self._open.add(pair)
        yield from self._faults(value, schema, path)
        self._open.discard(pair)

    def _faults(self, value: object, schema: dict[str, Any], path: Path) -> Iterator[Fault]:
        if isinstance(reference := schema.get("$ref"), str):
            yield from self.check(value, referred(self._root, reference), path)
        wrong_type = _type_fault(value, schema, path)
        if wrong_type is not None:
            yield wrong_type
            return
        yield from self._combined(value, schema, path)
        if isinstance(value, Open):
            return
        yield from _plain_faults(value, schema, path)
        if isinstance(value, dict):
            yield from self._members(value, schema, path)
        if isinstance(value, list):
            yield from self._items(value, schema, path)

    def _combined(self, value: object, schema: dict[str, Any], path: Path) -> Iterator[Fault]:
        for part in schema.get("allOf", ()):
            yield from self.check(value, part, path)
        for word in ("anyOf", "oneOf"):
            if (choices := schema.get(word)) is None:
                continue
            tried = [list(self.check(value, choice, path)) for choice in choices]
            fitting = sum(not faults for faults in tried)
            if not fitting:
                yield _of_no_choice(value, tried, path)
            elif word == "oneOf" and fitting > 1 and not isinstance(value, Open):
                yield Fault(path, f"fits {fitting} of the alternatives, where one is allowed")
        if "not" in schema and not isinstance(value, Open) and not [*self.check(value, schema["not"], path)]:
            yield Fault(path, "is what the schema excludes")

    def _members(self, value: dict[str, object], schema: dict[str, Any], path: Path) -> Iterator[Fault]:
        properties: dict[str, object] = schema.get("properties", {})
        patterns: dict[str, object] = schema.get("patternProperties", {})
        for name in schema.get("required", ()):
            if name not in value:
                yield Fault(path, f"{name!r} is missing")
        for name, member in value.items():
            fitting = [part for pattern, part in patterns.items() if re.search(pattern, name)]
            if name in properties:
                fitting.append(properties[name])
            for part in fitting:
                yield from self.check(member, part, (*path, name))
            if fitting:
                continue
            if schema.get("additionalProperties") is False:
                yield Fault(
                    (*path, name), f"there is no {name!r}{nearest(name, properties) or _known(properties)}"
                )
            else:
                yield from self.check(member, schema.get("additionalProperties"), (*path, name))

    def _items(self, value: list[object], schema: dict[str, Any], path: Path) -> Iterator[Fault]:
        prefix = schema.get("prefixItems", [])
        for place, item in enumerate(value):
            part = prefix[place] if place < len(prefix) else schema.get("items")
            yield from self.check(item, part, (*path, place))


def _type_fault(value: object, schema: Mapping[str, Any], path: Path) -> Fault | None:
    wanted = schema.get("type")
    if wanted is None:
        return None
    types = [wanted] if isinstance(wanted, str) else wanted
    if isinstance(value, Open):
        fits = "string" in types
    else:
        fits = any(TYPES[name](value) for name in types if name in TYPES)
    if fits:
        return None
    return Fault(path, f"is {kind(value)}, where {' or '.join(map(str, types))} is asked for")


def _plain_faults(value: object, schema: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    if "enum" in schema and not any(same(value, choice) for choice in schema["enum"]):  # type: ignore[arg-type]
        yield Fault(path, f"is {_shown(value)}, not one of {', '.join(map(_shown, schema['enum']))}")
    if "const" in schema and not same(value, schema["const"]):  # type: ignore[arg-type]
        yield Fault(path, f"is {_shown(value)}, not {_shown(schema['const'])}")
    if is_number(value):
        yield from _number_faults(value, schema, path)  # type: ignore[arg-type]
    for kind, word, least, most in (
        (str, "characters", "minLength", "maxLength"),
        (list, "items", "minItems", "maxItems"),
        (dict, "members", "minProperties", "maxProperties"),
    ):
        if isinstance(value, kind):
            if len(value) < schema.get(least, 0):
                yield Fault(path, f"has {len(value)} {word}, at least {schema[least]} are asked for")
            if len(value) > schema.get(most, math.inf):
                yield Fault(path, f"has {len(value)} {word}, at most {schema[most]} are allowed")
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        yield Fault(path, f"is {_shown(value)}, which {schema['pattern']!r} doesn't match")
    if isinstance(value, list) and schema.get("uniqueItems") is True:
        twice = [item for place, item in enumerate(value) if any(same(item, other) for other in value[:place])]
        if twice:
            yield Fault(path, f"has {_shown(twice[0])} twice")


def _number_faults(value: float, schema: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    for word, sign, holds in (
        ("minimum", "at least", lambda limit: value >= limit),
        ("maximum", "at most", lambda limit: value <= limit),
        ("exclusiveMinimum", "more than", lambda limit: value > limit),
        ("exclusiveMaximum", "less than", lambda limit: value < limit),
        ("multipleOf", "a multiple of", lambda limit: _is_multiple(value, limit)),
    ):
        if word in schema and not holds(schema[word]):
            yield Fault(path, f"is {_shown(value)}, where {sign} {_shown(schema[word])} is asked for")


def _is_multiple(value: float, limit: float) -> bool:
    if isinstance(value, int) and isinstance(limit, int):
        return value % limit == 0
    return math.isclose(math.remainder(value, limit), 0, abs_tol=1e-9 * abs(limit))


def _of_no_choice(value: object, tried: list[list[Fault]], path: Path) -> Fault:
    # the alternative that went deepest, or failed in least, is what was meant
    best = min((faults for faults in tried if faults), key=lambda f: (-len(f[0].path), len(f)), default=None)
    if best is not None and len(best[0].path) > len(path):
        return best[0]
    if all(faults and "where" in faults[0].message for faults in tried):
        asked = dict.fromkeys(_asked_for(faults[0].message) for faults in tried)
        return Fault(path, f"is {kind(value)}, where {' or '.join(asked)} is asked for")
    return best[0] if best is not None else Fault(path, f"is {_shown(value)}, which fits no alternative")


def _asked_for(message: str) -> str:
    return message.partition("where ")[2].partition(" is asked")[0]


def referred(root: object, reference: object) -> object:
    """The schema that a ``$ref`` leads to; None where it leads nowhere, or out of this schema."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found = root
    for part in reference[1:].split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or name not in found:
            return None
        found = found[name]
    return found


def is_number(value: object) -> bool:
    """Whether it is a number of JSON."""
    return not isinstance(value, bool) and (
        isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    )


def kind(value: object) -> str:
    """What the value is, in words."""
    if isinstance(value, Open):
        return "a text with references"
    for name, holds in TYPES.items():
        if name != "number" and holds(value):
            return f"{'an' if name[0] in 'aeiou' else 'a'} {name} ({_shown(value)})" if name != "null" else "null"
    return f"a number ({_shown(value)})"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=lambda _: "${…}")
    return text if len(text) <= 50 else f"{text[:47]}…"


def _known(names: Mapping[str, object]) -> str:
    return f"; there are: {', '.join(names)}" if names else "; nothing is asked for here"
