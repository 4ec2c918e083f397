"""The pure parts of plans, over random graphs, values and texts."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from nonoka.decisions.plan_check import check_plan
from nonoka.decisions.plan_graph import graph_of
from nonoka.decisions.plan_references import Reference, escaped, parse_reference, references_in, resolve
from nonoka.decisions.plan_when import evaluate, parse_when
from nonoka.errors import ExpressionInvalid, ValueMissing
from nonoka.records.plan import Plan, Step

#: a plan, and for each step the steps that it waits for
Made = tuple[Plan, dict[str, set[str]]]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
segments = st.text(min_size=1, max_size=8) | st.integers(-3, 3)
references = st.builds(
    Reference, st.from_regex(r"[a-z][a-z0-9_-]{0,6}", fullmatch=True), st.lists(segments, max_size=4).map(tuple)
)
tokens = st.sampled_from(
    [
        "${a}",
        "${b.c[0]}",
        "and",
        "or",
        "not",
        "in",
        "==",
        "<",
        ">=",
        "(",
        ")",
        "[",
        "]",
        ",",
        "'x'",
        "3",
        "null",
        "${",
        "'",
    ]
)
conditions = st.lists(tokens, max_size=12).map(" ".join) | st.text(max_size=30)


@st.composite
def plans(draw: st.DrawFn, acyclic: bool = True) -> Made:
    size = draw(st.integers(1, 12))
    steps = []
    for place in range(size):
        choice = st.integers(0, place - 1 if acyclic else size - 1)
        named = draw(st.sets(choice, max_size=4)) if place or not acyclic else set()
        ways = [draw(st.sampled_from(["depends_on", "loose", "args", "when"])) for _ in named]
        by = {way: [f"s{name}" for name, w in zip(named, ways, strict=True) if w == way] for way in ways}
        depends_on = (*by.get("depends_on", ()), *(f"{name}?" for name in by.get("loose", ())))
        when = " or ".join(f"${{{name}}}" for name in by["when"]) if "when" in by else None
        args = {"v": [f"<${{{name}.x}}>" for name in by.get("args", ())]}
        steps.append((Step(id=f"s{place}", tool="t", args=args, depends_on=depends_on, when=when), named))
    order = draw(st.permutations(steps))
    return Plan(name="p", steps=tuple(step for step, _ in order)), {s.id: {f"s{n}" for n in ns} for s, ns in steps}


@settings(deadline=None)
@given(plans())
def test_layers_hold_every_step_once_and_after_all_that_it_waits_for(made: Made) -> None:
    plan, named = made
    graph = graph_of(plan)
    layers = graph.layers()
    at = {step: number for number, layer in enumerate(layers) for step in layer}
    assert sorted(step for layer in layers for step in layer) == sorted(step.id for step in plan.steps)
    for step, before in named.items():
        assert set(graph.before(step)) == before
        assert at[step] == max((at[name] + 1 for name in before), default=0)
    assert graph.cycles() == ()
    assert check_plan(plan) == []


@settings(deadline=None)
@given(plans())
def test_running_what_is_ready_ends_every_step_and_breaks_no_order(made: Made) -> None:
    plan, named = made
    graph = graph_of(plan)
    ended: list[str] = []
    while ready := graph.ready(ended):
        assert all(named[step] <= set(ended) for step in ready)
        ended.append(ready[0])
    assert sorted(ended) == sorted(named)


@settings(deadline=None)
@given(plans(acyclic=False))
def test_each_cycle_named_is_one_and_none_is_missed(made: Made) -> None:
    plan, named = made
    graph = graph_of(plan)
    laid = {step for layer in graph.layers() for step in layer}
    for cycle in graph.cycles():
        assert cycle[0] == cycle[-1]
        assert all(after in named[step] for step, after in pairwise(cycle))
    assert bool(graph.cycles()) == (laid != set(named))


@settings(deadline=None)
@given(plans(), st.data())
def test_what_comes_after_a_step_is_all_that_could_see_its_result(made: Made, data: st.DataObject) -> None:
    plan, named = made
    start = data.draw(st.sampled_from(sorted(named)))
    expected = {start}
    while more := {step for step, before in named.items() if before & expected} - expected:
        expected |= more
    assert set(graph_of(plan).with_dependents([start])) == expected


@settings(deadline=None)
@given(references)
def test_a_reference_reads_back_as_it_was_written(reference: Reference) -> None:
    text = str(reference)
    assert parse_reference(text) == (reference, len(text))


@settings(deadline=None)
@given(references, json_values)
def test_a_whole_reference_brings_exactly_the_value(reference: Reference, value: JsonValue) -> None:
    nested = value
    for segment in reversed(reference.path):
        nested = [nested, nested, nested, nested] if isinstance(segment, int) else {segment: nested}
    assert resolve([str(reference)], lambda head: nested) == [value]


@settings(deadline=None)
@given(json_values)
def test_a_value_escaped_throughout_resolves_to_itself(value: JsonValue) -> None:
    def written(part: JsonValue) -> JsonValue:
        if isinstance(part, str):
            return escaped(part)
        if isinstance(part, list):
            return [written(item) for item in part]
        return {key: written(item) for key, item in part.items()} if isinstance(part, dict) else part

    assert references_in(written(value)) == ()
    assert resolve(written(value), lambda head: 1 / 0) == value


@settings(deadline=None)
@given(st.text(alphabet="${}[].\"'ab0 \\", max_size=30))
def test_reading_a_text_raises_nothing_but_its_own_error(text: str) -> None:
    with suppress(ExpressionInvalid, ValueMissing):
        resolve(text, lambda head: {"a": [1]})


@settings(deadline=None)
@given(conditions, json_values)
def test_a_condition_is_answered_or_refused_by_its_own_error(text: str, value: JsonValue) -> None:
    with suppress(ExpressionInvalid, ValueMissing):
        assert evaluate(parse_when(text), lambda head: value) in (True, False)
