"""Values against schemas, over random ones: what is known in full, and what a reference has yet to bring."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from nonoka.decisions.json_schema import Open, mismatches, schema_faults

NAMES = st.sampled_from(["a", "b"])
values = st.recursive(
    st.sampled_from([None, True, 0, 1, 1.0, 2.5, "", "a", "ab"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=5,
)
types = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
plain_schemas = st.one_of(
    st.booleans(),
    st.builds(lambda found: {"type": found}, types | st.lists(types, min_size=1, max_size=3, unique=True)),
    st.builds(lambda value: {"const": value}, values),
    st.builds(lambda found: {"enum": found}, st.lists(values, min_size=1, max_size=3)),
    st.builds(
        lambda word, number: {word: number},
        st.sampled_from(
            ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "minimum", "exclusiveMaximum"]
        ),
        st.integers(0, 2),
    ),
    st.sampled_from(
        [{"pattern": "^a"}, {"uniqueItems": True}, {"required": ["a"]}, {"dependentRequired": {"a": ["b"]}}]
    ),
)


def _composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    one = st.sampled_from(
        ["additionalProperties", "contains", "items", "not", "propertyNames", "unevaluatedProperties"]
    )
    some = st.sampled_from(["allOf", "anyOf", "oneOf", "prefixItems"])
    named = st.sampled_from(["properties", "dependentSchemas", "patternProperties"])
    parts = st.one_of(
        st.builds(lambda word, part: {word: part}, one, inner),
        st.builds(lambda word, found: {word: found}, some, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda word, found: {word: found}, named, st.dictionaries(NAMES, inner, max_size=2)),
        st.builds(lambda *found: dict(zip(("if", "then", "else"), found, strict=True)), inner, inner, inner),
        st.builds(lambda part, most: {"contains": part, "maxContains": most}, inner, st.integers(0, 2)),
    )
    return st.builds(lambda left, right: left | right, parts, parts)


schemas = st.recursive(plain_schemas, _composed, max_leaves=6)


@settings(max_examples=300)
@given(values, schemas)
def test_what_is_known_in_full_fits_where_the_library_says_so(value: Any, schema: Any) -> None:
    assert schema_faults(schema) == []
    assert (mismatches(value, schema) == []) == Draft202012Validator(schema).is_valid(value)


@settings(max_examples=300)
@given(values, schemas, st.data())
def test_what_fits_is_never_refused_before_it_is_known(value: Any, schema: Any, data: st.DataObject) -> None:
    """Whatever part of it a reference is to bring."""

    def opened(part: Any) -> Any:
        if data.draw(st.booleans()):
            return Open(is_text=isinstance(part, str) and data.draw(st.booleans()))
        if isinstance(part, dict):
            return {name: opened(member) for name, member in part.items()}
        return [opened(item) for item in part] if isinstance(part, list) else part

    if not mismatches(value, schema):
        assert mismatches(opened(value), schema) == []
