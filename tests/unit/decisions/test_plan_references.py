"""References: how they are read, and what they are replaced by."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from nonoka.decisions.plan_references import (
    NO_RESULT,
    Reference,
    escaped,
    parse_text,
    references_in,
    resolve,
    whole_reference,
)
from nonoka.errors import ExpressionInvalid, ValueMissing

VALUES = {
    "fetch": {"items": [{"name": "a", "size": 3}, {"name": "b"}], "a b": True, "none": None},
    "inputs": {"path": "src"},
    "gone": NO_RESULT,
    "item": 2.5,
}


def lookup(head: str) -> Any:
    return VALUES[head]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("${fetch.items[0].size}", 3),
        ("${fetch.items[-1]}", {"name": "b"}),
        ('${fetch["a b"]}', True),
        ("${fetch['a b']} ${fetch.none} ${item}", "true null 2.5"),
        ("in ${inputs.path}/x", "in src/x"),
        ("${fetch.items[1]}!", '{"name": "b"}!'),
        ("$${HOME} and $5", "${HOME} and $5"),
        ("$$${fetch.none}", "$${fetch.none}"),
        ("${gone}", None),
        ("${gone.any[3].path}", None),
        ({"${item}": ["${item}", {"deep": "<${item}>"}], "n": 1}, {"${item}": [2.5, {"deep": "<2.5>"}], "n": 1}),
    ],
)
def test_a_reference_keeps_its_type_alone_and_is_text_within_text(value: JsonValue, found: JsonValue) -> None:
    assert resolve(value, lookup) == found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "${fetch.itms}",
            "${fetch.itms} has no value: ${fetch} is an object with 'items', 'a b', 'none', without 'itms'",
        ),
        ("${fetch.items[2]}", "${fetch.items} is a list of 2, without [2]"),
        ("${fetch.items.name}", "${fetch.items} is a list of 2, without 'name'"),
        ("${fetch.none.x}", "${fetch.none} is null, without 'x'"),
        ("${item.x}", "${item} is 2.5, without 'x'"),
    ],
)
def test_a_missing_path_says_what_was_there(text: str, says: str) -> None:
    with pytest.raises(ValueMissing) as raised:
        resolve(text, lookup)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("a ${", 4),
        ("${1x}", 2),
        ("${x.}", 3),
        ("${x[a]}", 3),
        ("${x", 0),
        ("${x y}", 3),
        ("${HOME:-/}", 6),
        ("${x['a}", 3),
    ],
)
def test_a_malformed_reference_is_told_with_its_place(text: str, position: int) -> None:
    with pytest.raises(ExpressionInvalid) as raised:
        parse_text(text)
    assert raised.value.position == position


def test_each_reference_is_found_wherever_it_stands() -> None:
    value = {"a": ["${x.y} and ${inputs.z}"], "b": {"c": "${item}"}, "d": "$${no}", "e": 1}
    assert references_in(value) == (Reference("x", ("y",)), Reference("inputs", ("z",)), Reference("item"))


def test_only_a_text_that_is_one_reference_is_a_whole_one() -> None:
    assert whole_reference("${a.b}") == Reference("a", ("b",))
    assert [whole_reference(text) for text in ("${a}${b}", " ${a}", "$${a}", "a")] == [None] * 4


def test_an_escaped_text_stands_for_itself() -> None:
    for text in ("${x}", "$${x}", "a$b ${", "$$${x}"):
        assert resolve(escaped(text), lookup) == text
