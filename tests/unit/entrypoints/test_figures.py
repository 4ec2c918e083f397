"""Figures and tables as people read them."""

from __future__ import annotations

import io

import pytest

from nonoka.entrypoints.cli.figures import age, seconds, shortened, tokens
from nonoka.entrypoints.cli.screen import PlainScreen, Span
from nonoka.records.runtime import RuntimeUsage


@pytest.mark.parametrize(
    ("ms", "read"), [(-5, "0.0 s"), (149, "0.1 s"), (9_940, "9.9 s"), (42_400, "42 s"), (200_000, "3 min 20 s")]
)
def test_a_length_of_time_is_as_precise_as_it_matters(ms: int, read: str) -> None:
    assert seconds(ms) == read


@pytest.mark.parametrize(
    ("ms", "read"), [(5_999, "5 s"), (180_000, "3 min"), (7_300_000, "2 h"), (9 * 86_400_000, "9 d")]
)
def test_an_age_is_told_in_its_largest_unit(ms: int, read: str) -> None:
    assert age(ms) == read


def test_estimated_tokens_are_marked() -> None:
    assert tokens(RuntimeUsage(input_tokens=1_000, output_tokens=204)) == "1,204 tokens"
    assert tokens(RuntimeUsage(input_tokens=1, estimated=True)) == "~1 tokens"


def test_a_shortened_text_is_one_line_of_at_most_its_length() -> None:
    assert shortened("a\n b", 10) == "a b"
    assert shortened("abcdef", 4) == "abc…"


def test_plain_columns_are_aligned_with_spaces_alone() -> None:
    out = io.StringIO()
    PlainScreen(out).table(("id", "title"), [("12345678", "x"), ("1", "日本")])
    assert out.getvalue() == "id        title\n12345678  x\n1         日本\n"


def test_a_plain_screen_shows_no_colours() -> None:
    out = io.StringIO()
    PlainScreen(out).write([Span("bad", "bad"), Span("\n")])
    assert out.getvalue() == "bad\n"
