"""The graph of a plan: dependencies, layers, cycles, what comes after a step."""

from __future__ import annotations

from typing import Any

import pytest

from nonoka.decisions.plan_graph import Dependencies, Graph, finally_graph_of, graph_of, step_dependencies
from nonoka.records.plan import Plan, Step


def step(id: str, *depends_on: str, **more: Any) -> Step:
    return Step(id=id, tool="t", depends_on=depends_on, **more)


DIAMOND = Plan(
    name="p",
    steps=(step("d", "b", "c"), step("b", "a"), step("c", args={"x": ["${a.y}"]}), step("a"), step("alone")),
    finally_steps=(step("report", args={"x": "${d} ${tidy}"}), step("tidy")),
)


def test_a_step_waits_for_what_it_names_and_for_all_that_it_refers_to() -> None:
    found = step_dependencies(
        Step(
            id="x",
            agent="a",
            task="${one} ${inputs.i}",
            prompt=None,
            when="${two.ok} and ${item} == 1",
            for_each="${three}",
            output={"enum": ["${four}"]},
            args={"k": {"deep": ["${five[0]}"]}},
            depends_on=("six", "one"),
        )
    )
    assert found == Dependencies(("six", "one", "five", "four", "three", "two"), ())


def test_a_question_mark_loosens_the_references_to_that_step_too() -> None:
    assert step_dependencies(step("x", "a?", "b", args={"v": "${a.b} ${c}"})) == Dependencies(("b", "c"), ("a",))


def test_layers_are_as_early_as_dependencies_allow_and_in_the_order_of_the_plan() -> None:
    graph = graph_of(DIAMOND)
    assert graph.layers() == (("a", "alone"), ("b", "c"), ("d",))
    assert finally_graph_of(DIAMOND).layers() == (("tidy",), ("report",))
    assert graph.before("d") == ("b", "c")
    assert graph.after("a") == ("b", "c")
    assert graph.leaves == ("d", "alone")


@pytest.mark.parametrize(
    ("ended", "ready"),
    [("", ("a", "alone")), ("a alone", ("b", "c")), ("a b", ("c", "alone")), ("a b c d alone", ())],
)
def test_a_step_is_ready_when_all_it_waits_for_has_ended(ended: str, ready: tuple[str, ...]) -> None:
    assert graph_of(DIAMOND).ready(set(ended.split())) == ready


def test_what_depends_on_a_step_is_found_transitively() -> None:
    graph = graph_of(DIAMOND)
    assert graph.with_dependents(["c"]) == ("d", "c")
    assert graph.with_dependents(["a"]) == ("d", "b", "c", "a")


def test_a_cycle_is_named_step_by_step_and_each_knot_once() -> None:
    steps = (step("a", "b"), step("b", "c"), step("c", "b"), step("me", "me"), step("after", "a"), step("ok"))
    graph = graph_of(Plan(name="p", steps=steps))
    assert graph.cycles() == (("b", "c", "b"), ("me", "me"))
    assert graph.layers() == (("ok",),)


def test_the_critical_path_is_the_chain_that_took_longest() -> None:
    graph = graph_of(DIAMOND)
    assert graph.critical_path({"a": 1, "b": 5, "c": 2, "d": 1, "alone": 6}) == ("a", "b", "d")
    assert graph.critical_path({"alone": 60}) == ("alone",)
    assert Graph({}).critical_path({}) == ()
