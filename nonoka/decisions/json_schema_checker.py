"""Draft 2020-12 of jsonschema, for values that may not be known in full and patterns that may never end.

Loading this loads jsonschema. Its weakness: where ``unevaluatedProperties`` stands over ``patternProperties``, the
library matches those once more by ``re``, which no timeout ends.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import attrs  # of which jsonschema makes its classes
from jsonschema import Draft202012Validator, FormatChecker, TypeChecker, ValidationError, validators
from jsonschema.protocols import Validator
from jsonschema_specifications import REGISTRY

from nonoka.decisions.json_schema import Open
from nonoka.decisions.pattern import Pattern, TooSlow
from nonoka.decisions.plan_fault import nearest
from nonoka.errors import ToolFailure

Errors = Iterator[ValidationError]
#: as jsonschema calls it: the validator, the keyword's value, the value that is checked, the schema around
Keyword = Callable[[Any, Any, Any, Any], Errors]

#: What jsonschema checks without other packages. Named, so that it doesn't depend on what else is installed.
FORMATS = ("date", "email", "ipv4", "ipv6", "regex", "uuid")
#: How many schemas a check goes into, each from the one before: some 4 frames of the interpreter's 1,000 apiece.
DEEPEST = 180
_STANDARD: Mapping[str, Keyword] = Draft202012Validator.VALIDATORS


def checker(schema: object, *, formats: bool = True) -> Validator:
    """What checks values against the schema. It fetches nothing: the registry holds the drafts' own schemas."""
    made: Validator = _checker_class()(
        schema, registry=REGISTRY, format_checker=_Course(FORMATS if formats else ())
    )
    return made


class _Course(FormatChecker):
    """What goes along through one check: the formats that are looked at, and how deep it is."""

    def __init__(self, formats: tuple[str, ...]) -> None:
        super().__init__(formats)
        self.depth = 0
        if "regex" in formats:
            self.checks("regex", raises=ToolFailure)(_is_pattern)


def _one_deeper(validator: Any, errors: Errors, by: int = 1) -> Errors:
    """The errors. Raises RecursionError well before the interpreter would, at which the library's Rust panics."""
    course: _Course = validator.format_checker
    course.depth += by
    try:
        if course.depth > DEEPEST:
            raise RecursionError(f"more than {DEEPEST} schemas inside one another")
        yield from errors
    finally:
        course.depth -= by


@functools.cache
def _checker_class() -> Any:
    extend: Any = validators.extend  # which its stubs leave untyped
    made: Any = extend(Draft202012Validator, _KEYWORDS, type_checker=_types())
    # the library's own evolve turns to another class at each "$schema"; its descend forgets where a false was
    made.evolve = attrs.evolve
    made.descend = _descend_by(made.descend)
    return made


def _descend_by(descend: Callable[..., Errors]) -> Callable[..., Errors]:
    def descend_watched(self: Any, instance: Any, schema: Any, *args: Any, **places: Any) -> Errors:
        with_place = {"not": {}} if schema is False else schema
        return _one_deeper(self, descend(self, instance, with_place, *args, **places))

    return descend_watched


def _types() -> TypeChecker:
    # json.loads brings NaN and the infinities, which are no numbers of JSON
    standard: TypeChecker = Draft202012Validator.TYPE_CHECKER
    return standard.redefine("number", lambda _, value: standard.is_type(value, "number") and _is_finite(value))


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _is_pattern(value: object) -> bool:
    return not isinstance(value, str) or bool(compiled(value))


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> Pattern:
    """The pattern, made safe to match. Raises ToolFailure."""
    return Pattern(pattern)


def _is_in(pattern: str, text: str) -> bool:
    try:
        return compiled(pattern).find(text) is not None
    except ToolFailure:
        return True  # of a tool's schema, which nobody checked: the tool itself will say
    except TooSlow as slow:
        raise TooSlow(pattern) from slow


def is_open(value: object) -> bool:
    """Whether any of it is not known yet."""
    if isinstance(value, dict):
        return any(map(is_open, value.values()))
    return any(map(is_open, value)) if isinstance(value, list) else isinstance(value, Open)


def _once_known(word: str) -> Keyword:
    """The standard keyword, which says nothing of what isn't known in full: it may fit yet, or stop to."""

    def keyword(validator: Any, wanted: Any, instance: Any, schema: Any) -> Errors:
        if not is_open(instance):
            # "if" and "contains" go down unwatched, and by as many frames as two that are watched
            yield from _one_deeper(validator, _STANDARD[word](validator, wanted, instance, schema), by=2)

    return keyword


def _type(validator: Any, types: Any, instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, Open):
        yield from _STANDARD["type"](validator, types, instance, schema)
    elif instance.is_text and "string" not in ([types] if isinstance(types, str) else types):
        yield ValidationError("is a text")


def _not(validator: Any, excluded: Any, instance: Any, schema: Any) -> Errors:
    if excluded == {} or not is_open(instance):
        yield from _one_deeper(validator, _STANDARD["not"](validator, excluded, instance, schema), by=2)


def _one_of(validator: Any, choices: Any, instance: Any, schema: Any) -> Errors:
    # of what isn't known in full, more may seem to fit than will
    yield from _STANDARD["anyOf" if is_open(instance) else "oneOf"](validator, choices, instance, schema)


def _multiple_of(validator: Any, unit: Any, instance: Any, schema: Any) -> Errors:
    # exact: the library's floats hold that 0.3 is no multiple of 0.1, and fail at 10**400
    if validator.is_type(instance, "number") and (_exact(instance) / _exact(unit)).denominator != 1:
        yield ValidationError("is no multiple")


def _exact(number: Any) -> Fraction:
    return Fraction(str(number)) if isinstance(number, float) else Fraction(number)


def _required(validator: Any, names: Any, instance: Any, schema: Any) -> Errors:
    if not validator.is_type(instance, "object"):
        return
    for name in names:
        if name not in instance:
            yield ValidationError(f"{name!r} is missing")


def _additional_properties(validator: Any, more: Any, instance: Any, schema: Any) -> Errors:
    if not validator.is_type(instance, "object"):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, member in instance.items():
        if name in known or any(_is_in(pattern, name) for pattern in patterns):
            continue
        if more is False:
            hint = nearest(name, known) or _listed([*known, *patterns])
            yield ValidationError(f"there is no {name!r}{hint}", path=(name,))
        else:
            yield from validator.descend(member, more, path=name)


def _listed(names: list[str]) -> str:
    return f"; there are: {', '.join(names)}" if names else "; nothing is asked for here"


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Errors:
    if validator.is_type(instance, "string") and not _is_in(pattern, instance):
        yield ValidationError("doesn't match")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Errors:
    if not validator.is_type(instance, "object"):
        return
    for pattern, part in patterns.items():
        for name, member in instance.items():
            if _is_in(pattern, name):
                yield from validator.descend(member, part, path=name, schema_path=pattern)


def _property_names(validator: Any, names: Any, instance: Any, schema: Any) -> Errors:
    # the library doesn't say which name it is
    if validator.is_type(instance, "object"):
        for name in instance:
            yield from validator.descend(name, names, path=name)


_KEYWORDS: Mapping[str, Keyword] = {
    "additionalProperties": _additional_properties,
    "multipleOf": _multiple_of,
    "not": _not,
    "oneOf": _one_of,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "propertyNames": _property_names,
    "required": _required,
    "type": _type,
    **{
        word: _once_known(word)
        for word in ("const", "contains", "enum", "if", "unevaluatedItems", "unevaluatedProperties", "uniqueItems")
    },
}
