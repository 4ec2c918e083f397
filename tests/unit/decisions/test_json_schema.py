"""Values against JSON Schemas, as far as tools and answers use them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from nonoka.decisions.json_schema import Open, mismatches
from nonoka.decisions.json_schema_check import schema_faults
from nonoka.decisions.plan_fault import written

NODE = {
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]}},
    "$ref": "#/$defs/node",
}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (3, {"type": ["integer", "null"]}),
        (3.0, {"type": "integer"}),
        (10**400, {"type": "integer", "multipleOf": 5}),
        (0.3, {"multipleOf": 0.1}),
        (
            {"a": 1, "b": "x"},
            {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
        ),
        ([1, "a", None], {"prefixItems": [{"type": "integer"}, {"const": "a"}], "items": {"type": "null"}}),
        ("x", {"anyOf": [{"type": "integer"}, {"enum": ["x"]}]}),
        ("x", {"oneOf": [{"type": "integer"}, {"type": "string"}], "not": {"const": "y"}}),
        (Open(), {"type": "integer"}),
        (Open(is_text=True), {"type": "string", "pattern": "^a$"}),
        ({"a": Open()}, {"required": ["a"], "properties": {"a": {"type": "integer"}}}),
        ("anything", {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        ("anything", True),
    ],
)
def test_what_fits_has_no_mismatch(value: JsonValue, schema: Any) -> None:
    assert mismatches(value, schema) == []


@pytest.mark.parametrize(
    ("value", "schema", "place", "says"),
    [
        (True, {"type": "integer"}, "", "is a boolean (true), where integer is asked for"),
        (3.5, {"type": "integer"}, "", "a number (3.5)"),
        ({"next": {"next": {}}}, NODE, "next.next", "'next' is missing"),
        (
            {"a": {"b": [1, "x"]}},
            {"properties": {"a": {"properties": {"b": {"items": {"type": "integer"}}}}}},
            "a.b[1]",
            "string",
        ),
        ({"nmae": 1}, {"properties": {"name": {}}, "additionalProperties": False}, "nmae", "did you mean 'name'?"),
        ("x", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "", "where integer or null is asked for"),
        ({"a": 1}, {"anyOf": [{"type": "null"}, {"properties": {"a": {"type": "string"}}}]}, "a", "where string"),
        (5, {"oneOf": [{"type": "integer"}, {"minimum": 1}]}, "", "fits 2"),
        ("abc", {"maxLength": 2}, "", "at most 2"),
        ([], {"minItems": 1}, "", "at least 1"),
        ([1, 2, 1.0], {"uniqueItems": True}, "", "twice"),
        (1, {"exclusiveMinimum": 1}, "", "more than 1"),
        (7, {"multipleOf": 2}, "", "multiple"),
        (True, {"enum": [1, 0]}, "", "not one of 1, 0"),
        ("b", {"pattern": "^a"}, "", "doesn't match"),
        (1, {"not": {"type": "integer"}}, "", "excludes"),
        (1, False, "", "nothing"),
        (Open(is_text=True), {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "", "a text with references"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(value: JsonValue, schema: Any, place: str, says: str) -> None:
    found = mismatches(value, schema)
    assert [written(fault.path) for fault in found] == [place], found
    assert says in found[0].message


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ("object", ""),
        ({"type": "text"}, "type"),
        ({"type": ["string", 3]}, "type"),
        ({"properties": {"a": 3}}, "properties.a"),
        ({"properties": []}, "properties"),
        ({"items": {"anyOf": [{"enum": []}]}}, "items.anyOf[0].enum"),
        ({"anyOf": []}, "anyOf"),
        ({"required": "a"}, "required"),
        ({"pattern": "("}, "pattern"),
        ({"minLength": -1}, "minLength"),
        ({"multipleOf": 0}, "multipleOf"),
        ({"$ref": "http://elsewhere/x"}, "$ref"),
        ({"$ref": "#/$defs/none"}, "$ref"),
    ],
)
def test_what_is_no_schema_is_told_with_its_place(schema: Any, place: str) -> None:
    assert [written(fault.path) for fault in schema_faults(schema)] == [place]


def test_a_sound_schema_has_no_fault() -> None:
    assert schema_faults(NODE) == []
    assert schema_faults(True) == []
