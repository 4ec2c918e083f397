"""Conditions: the grammar of ``when``, and what it means."""

from __future__ import annotations

import pytest

from nonoka.decisions.plan_references import NO_RESULT, Reference
from nonoka.decisions.plan_when import evaluate, parse_when, references_of
from nonoka.errors import ExpressionInvalid, ValueMissing

VALUES = {"n": 3, "t": "abc", "yes": True, "none": None, "list": [1, "a"], "obj": {"k": {}}, "gone": NO_RESULT}


def holds(text: str) -> bool:
    return evaluate(parse_when(text), lambda head: VALUES[head])


@pytest.mark.parametrize(
    "text",
    [
        "${n}",
        "not ${none}",
        "not ${obj.k}",
        "not ${gone.x}",
        "${n} == 3 and ${n} == 3.0",
        "${yes} != 1",
        "${t} >= 'abc' and ${t} < \"abd\"",
        "'b' in ${t} and 'k' in ${obj} and 'a' in ${list}",
        "${n} in [1, 2, 3] and ${n} not in [4]",
        "not (${n} == 3 and ${n} == 4)",
        "false or ${yes} and not false",
        "true or false and false",
        "not ${gone} > 1",
        "not 1 in ${none}",
        "${list} == [1, 'a']",
        "${t} == 'a\\'' or true",
        "not not -1.5e1 < 0",
        "  ${n}==3  ",
    ],
)
def test_a_condition_holds(text: str) -> None:
    assert holds(text) is True


def test_what_decides_first_ends_it() -> None:
    assert holds("${yes} or ${obj.missing}") is True
    assert holds("${none} and ${obj.missing}") is False


@pytest.mark.parametrize("text", ["${t} > 3", "${yes} < 2", "1 in ${n}", "3 in ${t}", "${obj.missing} == 1"])
def test_what_has_no_answer_is_an_error_and_not_false(text: str) -> None:
    with pytest.raises(ValueMissing):
        holds(text)


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("", 0, "expected"),
        ("${n} = 3", 5, "equal is =="),
        ("${n} == ok", 8, "'ok'"),
        ("${n} ==", 7, "expected"),
        ("${n} 3", 5, "expected"),
        ("${n} && ${t}", 5, "write and"),
        ("(${n}", 5, ")"),
        ("${n", 0, "not closed"),
        ("'abc", 0, "quote"),
        ("1 < 2 < 3", 6, "expected"),
        ("[1", 2, "]"),
        ("${n} not 3", 9, "in is expected"),
        ("9" * 5000, 0, "digits"),
        ("1e999", 0, "large"),
        ("not " * 400 + "1", 200, "levels"),
        ("(" * 400, 50, "levels"),
    ],
)
def test_what_can_not_be_read_is_told_with_its_place(text: str, position: int, says: str) -> None:
    with pytest.raises(ExpressionInvalid) as raised:
        parse_when(text)
    assert says in str(raised.value)
    assert raised.value.position == position


def test_its_references_are_found() -> None:
    found = references_of(parse_when("${a.b} in [${c}, 1] or not (${d} == 2)"))
    assert found == (Reference("a", ("b",)), Reference("c"), Reference("d"))
