"""What is wrong with a JSON Schema, which a plan's author or a model may have written. json_schema calls this.

Loading this loads jsonschema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema_specifications import REGISTRY
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from nonoka.decisions.json_schema import mismatches
from nonoka.decisions.json_schema_checker import checker
from nonoka.decisions.plan_fault import Fault, Path

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCES = ("$ref", "$dynamicRef")
_SCHEMAS = (
    *("additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")


def malformed(schema: object, path: Path) -> list[Fault]:
    """Where it isn't what Draft 2020-12 calls a schema."""
    other = [
        Fault((*place, "$schema"), _of_draft(part["$schema"])) for place, part in _of_other_draft(schema, path)
    ]
    return other or mismatches(schema, Draft202012Validator.META_SCHEMA, path)


def _of_other_draft(schema: object, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for place, part in _with_parts(schema, path):
        if "$schema" in part and part["$schema"] not in (DIALECT, f"{DIALECT}#"):
            yield place, part


def _of_draft(named: object) -> str:
    return f"{named!r} is not what schemas are read by here; say {DIALECT!r}, or leave $schema out"


def _with_parts(schema: object, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The schema and each schema in it, with its place; what is no object has nothing in it."""
    if isinstance(schema, dict):
        yield path, schema
        for place, part in _parts(schema):
            yield from _with_parts(part, (*path, *place))


def _parts(schema: dict[str, Any]) -> Iterator[tuple[Path, object]]:
    for word, value in schema.items():
        if word in _SCHEMAS:
            yield (word,), value
        elif word in _LISTS and isinstance(value, list):
            yield from (((word, place), part) for place, part in enumerate(value))
        elif word in _MAPS and isinstance(value, dict):
            yield from (((word, name), part) for name, part in value.items())


def senseless(schema: object, path: Path) -> list[Fault]:
    """Where what is well formed leads nowhere, or to itself, or can fit no value."""
    resolver = REGISTRY.resolver_with_root(DRAFT202012.create_resource(schema))
    sense = _Sense(schema)
    return list(sense.faults(schema, resolver, path)) or list(sense.endless())


class _Sense:
    """Looks where references lead, and for what no value could fit."""

    def __init__(self, schema: object) -> None:
        self._within = {id(part) for _, part in _with_parts(schema, ())}
        self._seen: set[int] = set()
        self._referring: list[tuple[Path, dict[str, Any], Any]] = []
        self._checker: Any = checker(schema)

    def faults(self, schema: object, resolver: Any, path: Path) -> Iterator[Fault]:
        if not isinstance(schema, dict) or id(schema) in self._seen:
            return
        self._seen.add(id(schema))
        try:
            resolver = resolver.in_subresource(DRAFT202012.create_resource(schema))
        except ValueError as error:
            yield Fault((*path, "$id"), f"{schema['$id']!r} is no URI: {error}")
            return
        if schema.get("enum") == []:
            yield Fault((*path, "enum"), "names no value, so none can fit")
        for word in _REFERENCES:
            if word in schema:
                self._referring.append((path, schema, resolver))
                yield from self._of_reference(schema[word], resolver, (*path, word))
        for place, part in _parts(schema):
            yield from self.faults(part, resolver, (*path, *place))

    def _of_reference(self, reference: str, resolver: Any, path: Path) -> Iterator[Fault]:
        try:
            found = resolver.lookup(reference)
        except (Unresolvable, LookupError, TypeError, ValueError):
            yield Fault(path, _leads_nowhere(reference))
            return
        # what a schema doesn't have as a part was not looked at; the draft's own schema is such, and an example
        if id(found.contents) not in self._within:
            yield from malformed(found.contents, path) or self.faults(found.contents, found.resolver, path)

    def endless(self) -> Iterator[Fault]:
        """The first that leads back to itself at the same value. Asked where ``faults`` had nothing to say."""
        for path, schema, resolver in self._referring:
            try:
                # nearly all that do so at a value do so at null; of the others, each value they check is told
                any(self._checker.descend(None, schema, resolver=resolver))
            except RecursionError:
                yield Fault(path, "leads back to itself without end, or too deep to be followed")
                return


def _leads_nowhere(reference: str) -> str:
    if reference.startswith("#"):
        return f"{reference!r} leads nowhere in this schema"
    return f"{reference!r} is not in this schema, and nothing is fetched; put what it means under $defs"
