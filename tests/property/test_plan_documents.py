"""Plan files over random plans and random text: the same plan back, and no error but its own."""

from __future__ import annotations

import json
from contextlib import suppress

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from nonoka.agents.marked_yaml import read_document
from nonoka.agents.plan_document import document_of
from nonoka.agents.plan_file import plan_from_text
from nonoka.decisions.plan_references import escaped
from nonoka.errors import PlanInvalid
from nonoka.records.plan import Plan, PlanInput, Retry, Step

#: what may stand in a stored text; YAML has no way to write the others, but as escapes
letters = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff\ufffe\uffff")
tricky = ["on", "no", "1:30", "0644", "~", "a: b", "- x", "#", "<<"]
texts = st.text(letters, max_size=12) | st.sampled_from(tricky)
numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def literal(value: JsonValue) -> JsonValue:
    """The value with no text taken for a reference."""
    if isinstance(value, dict):
        return {key: literal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [literal(item) for item in value]
    return escaped(value) if isinstance(value, str) else value


steps = st.fixed_dictionaries(
    {"args": st.dictionaries(texts, values.map(literal), max_size=3)},
    optional={
        "name": texts,
        "on_failure": st.sampled_from(["fail", "continue", "skip"]),
        "retry": st.builds(
            Retry, attempts=st.integers(1, 9), backoff_s=st.floats(0, 60), on=st.lists(texts, max_size=2)
        ),
        "timeout_s": st.floats(0.1, 1e5),
        "when": st.sampled_from(["true", "'x' == \"y\"", "1 < 2"]),
        "for_each": st.lists(values.map(literal), max_size=3),
    },
)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    def before(prefix: str, place: int) -> tuple[str, ...]:
        return tuple(f"{prefix}{n}?" for n in range(place) if draw(st.booleans()))

    def made(prefix: str, size: int) -> tuple[Step, ...]:
        return tuple(
            Step(id=f"{prefix}{n}", tool="t", depends_on=before(prefix, n), **draw(steps)) for n in range(size)
        )

    inputs = {f"i{n}": PlanInput(default=draw(values), required=False) for n in range(draw(st.integers(0, 2)))}
    return Plan(
        name=draw(st.sampled_from(["p", "on", "1.10"])),
        inputs=inputs,
        steps=made("s", draw(st.integers(1, 4))),
        finally_steps=made("f", draw(st.integers(0, 2))),
        outputs=draw(st.dictionaries(texts, values.map(literal), max_size=2)),
        max_parallel=draw(st.none() | st.integers(1, 9)),
    )


@settings(deadline=None, max_examples=50)
@given(plans())
def test_a_plan_written_as_json_or_yaml_is_read_back_as_it_was(plan: Plan) -> None:
    document = document_of(plan)
    assert plan_from_text(json.dumps(document), "f.json") == plan
    assert plan_from_text(json.dumps(document, ensure_ascii=False, indent=1), "f.json") == plan
    assert plan_from_text(yaml.safe_dump(document, allow_unicode=True), "f.yaml") == plan


@settings(deadline=None)
@given(values)
def test_json_is_read_as_the_value_that_it_is(value: JsonValue) -> None:
    assert read_document(json.dumps(value), "f.json").value == value


words = ["name", "steps", "id", "a", "tool", "finally", "1"]
signs = [": ", "\n", "- ", "  ", "${", "}", "[", "]", "{", "&x", "*x", "!!str ", "|", "'", '"', "#", "?", "~"]
noise = st.lists(st.sampled_from([*words, *signs]), max_size=25).map("".join)


@settings(deadline=None)
@given(noise | st.text(max_size=40), st.sampled_from(["f.yaml", "f.json"]))
def test_any_text_is_a_plan_or_refused_with_a_place_for_each_error(text: str, name: str) -> None:
    with suppress(PlanInvalid):
        assert isinstance(plan_from_text(text, name), Plan)


keys = ["id", "tool", "prompt", "agent", "retry", "when", "timeout", "zz", "depends_on"]
malformed = st.dictionaries(st.sampled_from(keys), values, max_size=5)
documents = st.fixed_dictionaries(
    {"steps": st.lists(malformed | values, max_size=3) | values},
    optional={
        "name": values,
        "inputs": values,
        "finally": st.lists(malformed, max_size=2),
        "outputs": values,
        "q": values,
    },
)


@settings(deadline=None)
@given(documents)
def test_whatever_a_document_holds_each_error_has_its_line(document: dict[str, JsonValue]) -> None:
    try:
        plan_from_text(json.dumps(document, indent=1), "f.json")
    except PlanInvalid as refused:
        errors = refused.errors
    else:
        errors = []
    lines = [error.split(":")[:2] for error in errors]
    assert all(file == "f.json" and line.isdigit() for file, line in lines)
    assert [int(line) for _, line in lines] == sorted(int(line) for _, line in lines)
