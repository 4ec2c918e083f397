"""Values against JSON Schemas, and what is said of either."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from nonoka.decisions.json_schema import Open, mismatches, schema_faults
from nonoka.decisions.plan_fault import written

DIALECT = "https://json-schema.org/draft/2020-12/schema"
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
        ({"a": Open(), "b": 1}, {"const": {"a": 2, "b": 1}}),
        ([Open(), 1], {"contains": {"type": "string"}, "uniqueItems": True, "not": {"maxItems": 2}}),
        (Open(), {"oneOf": [{"type": "integer"}, {"type": "number"}], "enum": [1, 2], "format": "date"}),
        ({"a": Open()}, {"if": {"properties": {"a": {"const": 1}}}, "then": False, "else": False}),
        (
            {"a": Open()},
            {"$schema": DIALECT, "properties": {"a": {"$id": "urn:a", "$schema": DIALECT, "type": "null"}}},
        ),
        ("é", {"pattern": r"^\p{L}$"}),
        ("x", {"format": "date-time"}),
        ({"type": "string"}, {"$ref": DIALECT}),
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
        (5, {"oneOf": [{"type": "integer"}, {"minimum": 1}]}, "", "fits more than one"),
        ("abc", {"maxLength": 2}, "", "at most 2"),
        ([], {"minItems": 1}, "", "at least 1"),
        ([1, 2, 1.0], {"uniqueItems": True}, "", "twice"),
        (1, {"exclusiveMinimum": 1}, "", "more than 1"),
        (7, {"multipleOf": 2}, "", "multiple"),
        (True, {"enum": [1, 0]}, "", "not one of 1, 0"),
        ("b", {"pattern": "^a"}, "", "doesn't match"),
        (1, {"not": {"type": "integer"}}, "", "excludes"),
        (1, False, "", "nothing"),
        ({"a": 1}, {"properties": {"a": False}}, "a", "nothing"),
        (float("nan"), {"type": "number"}, "", "is NaN, where number"),
        (10**400 + 1, {"multipleOf": 0.5 * 4}, "", "multiple"),
        ("2026-02-30", {"format": "date"}, "", "no date"),
        ("12", {"format": "uuid"}, "", "no uuid"),
        ("(", {"format": "regex"}, "", "not a regular expression"),
        ([1, 2], {"prefixItems": [{}], "items": False}, "", "at most 1"),
        ([1, 2], {"contains": {"type": "string"}}, "", "no item"),
        ([1, 2], {"contains": {"type": "integer"}, "maxContains": 1}, "", "at most 1"),
        ({"a": 1}, {"dependentRequired": {"a": ["b"]}}, "", "'b'"),
        ({"a": 1}, {"if": {"required": ["a"]}, "then": {"required": ["b"]}}, "", "'b' is missing"),
        ({"a": 1, "c": 1}, {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}, "", "'c'"),
        ({"a-b": 1}, {"propertyNames": {"pattern": "^[a-z]+$"}}, "a-b", "doesn't match"),
        ({"a1": 1}, {"patternProperties": {"^a": {"type": "string"}}}, "a1", "where string"),
        ({"a": Open(is_text=True)}, {"properties": {"a": {"type": "integer"}}}, "a", "a text with references"),
        (Open(), False, "", "nothing"),
        ("a" * 40 + "b!", {"pattern": "^(a|aa)+b$"}, "", "takes longer than"),
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
        ({"type": ["string", 3]}, "type[1]"),
        ({"properties": {"a": 3}}, "properties.a"),
        ({"properties": []}, "properties"),
        ({"items": {"anyOf": [{"enum": []}]}}, "items.anyOf[0].enum"),
        ({"anyOf": []}, "anyOf"),
        ({"required": "a"}, "required"),
        ({"pattern": "("}, "pattern"),
        ({"minLength": -1}, "minLength"),
        ({"multipleOf": 0}, "multipleOf"),
        ({"patternProperties": {"(": {}}}, "patternProperties.("),
        ({"pattern": "((a{999}){999}){999}"}, "pattern"),
        ({"items": [{"type": "string"}]}, "items"),
        ({"minContains": -1}, "minContains"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "$schema"),
        ({"$ref": "http://elsewhere/x"}, "$ref"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "properties.a.$ref"),
        ({"$ref": "http://[x"}, "$ref"),
        ({"$id": "http://[x"}, "$id"),
        ({"$ref": "#/$defs/a/type", "$defs": {"a": {"type": "string"}}}, "$ref"),
        ({"$ref": "#/$defs/a/type/b", "$defs": {"a": {"type": "string"}}}, "$ref"),
        ({"$ref": "#/examples/0", "examples": [{"type": "text"}]}, "$ref.type"),
        ({"$ref": "#"}, ""),
        ({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, "anyOf[0]"),
        (
            {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}},
            "properties.a",
        ),
        ({"$ref": "#/$defs/none"}, "$ref"),
    ],
)
def test_what_is_no_schema_is_told_with_its_place(schema: Any, place: str) -> None:
    assert [written(fault.path) for fault in schema_faults(schema)] == [place]


def test_a_sound_schema_has_no_fault() -> None:
    assert schema_faults(NODE) == []
    assert schema_faults(True) == []
    assert (
        schema_faults({"$ref": DIALECT, "$anchor": "a", "items": {"$ref": "#a"}, "const": {"$ref": "#/none"}})
        == []
    )


def test_all_that_does_not_fit_is_told_at_once() -> None:
    """A value of the wrong type is told once, whatever else the schema asks of it."""
    schema = {
        "properties": {"a": {"type": "string", "enum": ["x"]}, "b": {"minimum": 3, "multipleOf": 2}},
        "required": ["c", "d"],
        "additionalProperties": False,
    }
    assert [str(fault) for fault in mismatches({"a": 5, "b": 1, "cc": 0}, schema, ("args",))] == [
        "args.a: is an integer (5), where string is asked for",
        "args.b: is 1, where at least 3 is asked for",
        "args.b: is 1, where a multiple of 2 is asked for",
        "args: 'c' is missing",
        "args: 'd' is missing",
        "args.cc: there is no 'cc'; there are: a, b",
    ]


def test_a_format_is_not_looked_at_where_that_is_asked() -> None:
    assert mismatches("x", {"format": "date"}, formats=False) == []


def test_what_goes_too_deep_is_told_not_raised() -> None:
    value: JsonValue = {}
    for _ in range(900):
        value = {"next": value}
    (fault,) = mismatches(value, {"properties": {"next": {"$ref": "#"}}})
    assert "deeper than" in fault.message
    schema: Any = {}
    for _ in range(3_000):
        schema = {"items": schema}
    assert "deeper than" in schema_faults(schema)[0].message
