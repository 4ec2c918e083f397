"""Inputs: what is given is read by the declared type, and all that is wrong is told at once."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from nonoka.decisions.plan_inputs import checked_inputs
from nonoka.errors import PlanInvalid
from nonoka.records.plan import PlanInput

DECLARED = {
    "text": PlanInput(type="string", default="t"),
    "count": PlanInput(type="integer", default=1),
    "ratio": PlanInput(type="number", default=0.5),
    "flag": PlanInput(type="boolean", default=False),
    "names": PlanInput(type="list", default=[]),
    "any": PlanInput(required=False),
}


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ("text=3", "text", "3"),
        ("text=a=b", "text", "a=b"),
        ("text=", "text", ""),
        ("count=3", "count", 3),
        ("ratio=3", "ratio", 3),
        ("flag=true", "flag", True),
        ('names=["a"]', "names", ["a"]),
        ("any=[1]", "any", [1]),
        ("any=plain", "any", "plain"),
        ("any=NaN", "any", "NaN"),
    ],
)
def test_a_text_is_read_by_the_declared_type(given: str, name: str, value: JsonValue) -> None:
    assert checked_inputs(DECLARED, {}, [given])[name] == value


def test_what_is_not_given_has_its_default_and_a_text_wins_over_a_file() -> None:
    assert checked_inputs(DECLARED, {"count": 2, "text": "file"}, ["text=line"]) == {
        "text": "line",
        "count": 2,
        "ratio": 0.5,
        "flag": False,
        "names": [],
        "any": None,
    }


def test_all_that_is_wrong_is_told_at_once() -> None:
    declared = DECLARED | {"must": PlanInput(type="string", description="a path")}
    with pytest.raises(PlanInvalid) as raised:
        checked_inputs(declared, {"ratio": "x"}, ["count=3.5", "flag=yes", "naems=[]", "nothing", "names={}"])
    assert raised.value.errors == [
        "input 'count': '3.5' is not an integer",
        "input 'flag': 'yes' is not a boolean; write true or false",
        "input 'nothing': give it as name=value",
        "input 'names': '{}' is not a list; write JSON, such as [\"a\", \"b\"]",
        "input 'naems': the plan has no such input; did you mean 'names'?",
        "input 'ratio': is a string (\"x\"), where number is asked for",
        "input 'must': not given; say --input must=… (a string): a path",
    ]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ('any="\\ud83d"', "any"),
        ("any=\udcff", "any"),
        ("text=\udcff", "text"),
        ("text=\0", "text"),
        ("any=1e999", "any"),
        ("ratio=-1e999", "ratio"),
        ('any={"a": [1e999]}', "any"),
    ],
)
def test_what_no_store_can_hold_is_refused(given: str, name: str) -> None:
    with pytest.raises(PlanInvalid) as raised:
        checked_inputs(DECLARED, {}, [given])
    assert [error.startswith(f"input {name!r}: ") for error in raised.value.errors] == [True]
