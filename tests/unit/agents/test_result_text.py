"""What tools return can always be stored and sent."""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict, deque
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from nonoka.agents.result_text import capped, clean_text, stored_text


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    YES = "yes"


class Shape(BaseModel):
    name: str
    when: date


@dataclasses.dataclass
class Point:
    x: int
    tags: set[str]


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Exits:
    def __str__(self) -> str:
        raise SystemExit(3)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\n", "as it is\n"),
        (Word.YES, "yes"),
        (None, "null"),
        (True, "true"),
        (7, "7"),
        (1.5, "1.5"),
        (float("nan"), '"NaN"'),
        (float("inf"), '"Infinity"'),
        (float("-inf"), '"-Infinity"'),
        (Decimal("1.10"), '"1.10"'),
        ({3, 1, 2}, "[1, 2, 3]"),
        (frozenset({"b", "a"}), '["a", "b"]'),
        (datetime(2024, 1, 2, 3, 4, tzinfo=UTC), '"2024-01-02T03:04:00+00:00"'),
        (date(2024, 1, 2), '"2024-01-02"'),
        (timedelta(seconds=90), '"0:01:30"'),
        ("é".encode(), '"é"'),
        (b"\xff\xfe", '"base64://4="'),
        (b"a\0", '"base64:YQA="'),
        (Path("/a/b"), '"/a/b"'),
        (Colour.RED, '"red"'),
        (Level.HIGH, "3"),
        (Shape(name="é", when=date(2024, 1, 2)), '{"name": "é", "when": "2024-01-02"}'),
        (Point(1, {"b", "a"}), '{"x": 1, "tags": ["a", "b"]}'),
        ((1, [2, deque([3])]), "[1, [2, [3]]]"),
        (OrderedDict(a=1), '{"a": 1}'),
        ({1: "a", "1": "b", None: "c"}, '{"1": "a", "1 (2)": "b", "null": "c"}'),
        ({(1, 2): 3}, '{"[1, 2]": 3}'),
        (ValueError("bad"), '"ValueError: bad"'),
        ("\ud83d", "\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("a\0b", "a\ufffdb"),
        ({"k\ud83d": "\0"}, '{"k\ufffd": "\ufffd"}'),
        (Hostile(), '"<Hostile: str() raised RuntimeError>"'),
        ([1, Exits()], '[1, "<Exits: str() raised SystemExit>"]'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind_of_value_has_one_text(value: object, text: str) -> None:
    assert stored_text(value) == text


def test_what_contains_itself_is_named_where_it_begins_again() -> None:
    loop: list[Any] = [1]
    loop.append({"again": loop})
    assert stored_text(loop) == '[1, {"again": "<list inside itself>"}]'


def test_the_same_thing_twice_is_not_recursion() -> None:
    twice = ["x"]
    assert stored_text([twice, twice]) == '[["x"], ["x"]]'


def test_deep_nesting_is_cut_off_and_stays_valid() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert "too deep" in stored_text(deep)
    json.loads(stored_text(deep))


def test_a_number_too_long_for_decimal_is_described() -> None:
    assert stored_text(1 << 100_000) == '"<int of 100001 bits>"'


def test_a_mapping_that_raises_is_shown_by_its_type() -> None:
    class Broken(dict[str, int]):
        def items(self) -> Any:
            raise OSError("gone")

        def __str__(self) -> str:
            raise OSError("gone")

    assert stored_text({"in": Broken()}) == '{"in": "<Broken: str() raised OSError>"}'


class Wrong(BaseModel):
    model_config = {"extra": "allow"}
    n: int = 0


def test_a_model_keeps_its_extra_fields() -> None:
    assert stored_text(Wrong.model_validate({"n": 1, "more": {2}})) == '{"n": 1, "more": [2]}'


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.binary()
    | st.text(st.characters())
    | st.decimals(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner) | st.tuples(inner, inner),
)


@given(anything)
def test_any_value_becomes_valid_utf8_without_nul(value: object) -> None:
    text = stored_text(value)
    assert text.encode().decode() == text
    assert "\0" not in text
    if not isinstance(value, str):
        json.loads(text)


@given(st.text(st.characters()))
def test_clean_text_changes_only_what_can_not_be_stored(text: str) -> None:
    cleaned = clean_text(text)
    assert cleaned.encode().decode() == clean_text(cleaned)
    if not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in text):
        assert cleaned == text


@given(st.text(), st.integers(0, 300), st.text(max_size=20))
def test_capped_text_fits_and_accounts_for_every_byte(text: str, max_bytes: int, note: str) -> None:
    kept, cut = capped(text, max_bytes, note=note)
    assert len(kept.encode()) <= max_bytes
    if cut == 0:
        assert kept == text
    elif "bytes are cut out here" in kept and "bytes are cut out here" not in text:
        head, _, rest = kept.partition(f"\n[… {cut} bytes")
        tail = rest.partition(" …]\n")[2]
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head.encode()) + cut + len(tail.encode()) == len(text.encode())
    else:
        assert text.startswith(kept)


def test_a_character_is_never_cut_through() -> None:
    limit = 1000
    text = "x" * (limit - 1) + "😀" + "é" * limit
    for size in range(990, 1010):
        kept, cut = capped(text, size)
        assert cut > 0
        assert "\ufffd" not in kept
        assert len(kept.encode()) <= size


def test_the_note_says_how_to_get_the_rest() -> None:
    kept, cut = capped("a" * 5000, 1000, note="the whole: read_file('x')")
    assert f"[… {cut} bytes are cut out here; the whole: read_file('x') …]" in kept
    assert 900 < len(kept) <= 1000


@given(st.text(st.sampled_from("aé😀\n"), min_size=200, max_size=3_000), st.integers(120, 1_000))
def test_the_note_may_name_the_character_to_go_on_with(text: str, max_bytes: int) -> None:
    """What is before the line and what is read from there on is the whole."""
    kept, cut = capped(text, max_bytes, note="go on at {head}.")
    assert len(kept.encode()) <= max_bytes
    if cut:
        head, _, note = kept.partition("\n[… ")
        at = int(note.partition("go on at ")[2].partition(".")[0])
        assert head + text[at:] == text
