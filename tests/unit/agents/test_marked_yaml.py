"""YAML as people mean it, with a line for everything."""

from __future__ import annotations

import json

import pytest

from nonoka.agents.marked_yaml import MAX_REPEATED, read_document
from nonoka.errors import PlanInvalid


def value_of(text: str, name: str = "f.yaml") -> object:
    return read_document(text, name).value


@pytest.mark.parametrize("text", ["on", "off", "yes", "No", "Y", "2026-01-31", "1:30", "0644", "1_000", "0x"])
def test_what_only_yaml_1_1_takes_for_something_else_is_text(text: str) -> None:
    assert value_of(f"[{text}]") == [text]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-12", -12),
        ("0o17", 15),
        ("0x1F", 31),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("-.5", -0.5),
        ("'1'", "1"),
        ('"true"', "true"),
        ("!!str 5", "5"),
        ("|\n  a\n  b\n", "a\nb\n"),
    ],
)
def test_what_yaml_1_2_means_is_meant(text: str, value: object) -> None:
    found = value_of(f"a: {text}")
    assert found == {"a": value}
    assert isinstance(found, dict)
    assert type(found["a"]) is type(value)


def test_keys_are_text_whatever_they_look_like() -> None:
    assert value_of("on: 1\n2: 2\nnull: 3\ntrue: 4\n") == {"on": 1, "2": 2, "null": 3, "true": 4}


def test_each_part_knows_its_line_and_a_missing_one_that_of_what_is_around_it() -> None:
    document = read_document("a:\n  - b: 1\n    c: |\n      x\n  - d\n", "f.yaml")
    places = [(), ("a",), ("a", 0), ("a", 0, "c"), ("a", 1), ("a", 0, "zz", 3), ("q",)]
    assert [document.place(place) for place in places] == [f"f.yaml:{line}" for line in (1, 1, 2, 3, 5, 2, 1)]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: 'a' is given twice; it was on line 1 before"),
        ("a:\n  ? [x]\n  : 1\n", "f.yaml:2: a key is text"),
        ("a: !!python/name:os.system x\n", "f.yaml:1: the tag !!python/name:os.system is not known here"),
        ("a: !mine x\n", "f.yaml:1: the tag !mine is not known here"),
        ("\na: .nan\n", "f.yaml:2: '.nan' is no float"),
        ("a: 1e999\n", "f.yaml:1: '1e999' is no float"),
        ("a: " + "9" * 5000, "f.yaml:1: '999"),
        ("a: !!bool maybe\n", "f.yaml:1: 'maybe' is no bool"),
        ('a: "\\0"\n', "f.yaml:1: a text holds no NUL"),
        (
            "a: b\nc: d: e\n",
            "f.yaml:2: not YAML: mapping values are not allowed in this",
        ),
        ("a: 1\n\tb: 2\n", "f.yaml:2: not YAML: "),
        ("x: 1\na: [${b}]\n", "f.yaml:2: not YAML: did not find expected ',' or ']'"),
        ("a: *nowhere\n", "f.yaml:1: not YAML: found undefined alias"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2: not YAML: but found another document"),
        ("a: 1\nb: \x07\n", "f.yaml:2: a character that can't be in YAML"),
        ("a: &x {k: 1}\nb: {<<: *x}\n", "f.yaml:2: merging with << is not supported"),
        ("a: &x [*x]\n", "f.yaml:1: an alias (*) of what it is in has no end"),
        ("[" * 400 + "]" * 400, "f.yaml:1: more than 100 levels"),
        ("- " * 200 + "x", "f.yaml:1: more than 100 levels"),
        ("- " * 5000 + "x", "f.yaml:1: not YAML: exceeded maximum nesting depth"),
    ],
)
def test_what_can_not_be_read_is_told_with_its_line(text: str, error: str) -> None:
    with pytest.raises(PlanInvalid) as raised:
        value_of(text)
    assert raised.value.errors[0].startswith(error)


def test_a_reference_without_quotes_within_brackets_brings_the_remedy() -> None:
    with pytest.raises(PlanInvalid, match=r"a reference stands in quotes"):
        value_of("args: {path: ${a.b}}\n")


def test_several_mistakes_are_told_at_once() -> None:
    with pytest.raises(PlanInvalid) as raised:
        value_of("a: .inf\na: 1\nb: !x 1\n")
    assert [error.split(":")[1] for error in raised.value.errors] == ["1", "2", "3"]


def test_aliases_repeat_values_but_are_no_bomb() -> None:
    assert value_of("a: &x {k: [1]}\nb: [*x, *x]\n") == {"a": {"k": [1]}, "b": [{"k": [1]}, {"k": [1]}]}
    bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
    bomb += "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    with pytest.raises(PlanInvalid, match=f"aliases .* repeat more than {MAX_REPEATED} values"):
        value_of(bomb)


def test_json_is_read_as_json() -> None:
    value = {"a": ["😀 \\ud83d\\ude00", "x/y", 1.5e300, None, {"on": True}], "€": "\t\"'#: {"}
    for text in (json.dumps(value), json.dumps(value, indent="\t"), json.dumps(value, ensure_ascii=False)):
        assert value_of(text, "f.json") == value
    with pytest.raises(PlanInvalid, match=r"^f.json:2: not JSON: Expecting property name"):
        value_of('{"a": 1,\nb: 2}', "f.json")
