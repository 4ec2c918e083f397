"""What a reader gets of an HTML page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nonoka.agents.builtin.page_text import MAX_CHARACTERS, page_text

URL = "https://example.org/docs/page"


def test_a_page_becomes_its_text() -> None:
    html = """<!DOCTYPE html><html><head><title>The   title</title><style>p {}</style>
    <script>if (a < b) { "</p>" }</script></head><body>
    <h1>Head</h1><p>One &amp; <b>two</b>
    three<br>four</p><ul><li>a</li><li>b</li></ul>
    <table><tr><td>1</td><td>2</td></tr></table>
    <pre>  kept
      as it is</pre><svg><text>no</text></svg><img src=x alt="a cat"><!-- no --></body></html>"""
    assert page_text(html, URL) == (
        "The title\n\n# Head\n\nOne & two three\nfour\n\n- a\n\n- b\n\n| 1 | 2\n\n"
        "  kept\n      as it is\n[image: a cat]"
    )


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("other", "x [https://example.org/docs/other]"),
        ("//h/p?q=1&amp;r=2", "x [https://h/p?q=1&r=2]"),
        ("#part", "x"),
        ("javascript:go()", "x"),
        ("mailto:a@b", "x"),
        ("http://[broken", "x"),
        ("", "x"),
    ],
)
def test_links_are_written_out(link: str, shown: str) -> None:
    assert page_text(f'<a href="{link}">x</a>', URL) == shown


def test_what_has_no_end_ends_nothing_else() -> None:
    assert page_text("before <b>bold <i>both", URL) == "before bold both"
    assert page_text("before <!-- never closed", URL) == "before"
    assert page_text("before <a href='never closed", URL) == "before"
    assert page_text("a < b &amp", URL) == "a < b &"
    assert page_text("<![if IE]>one<![endif]> two<![CDATA[three]]>", URL) == "one two"
    assert page_text("</svg></a></pre>x", URL) == "x"


def test_links_do_not_make_a_page_grow_beyond_measure() -> None:
    text = page_text('<a href="x">y</a>' * 20_000, f"https://example.org/{'p' * 3_000}/")
    assert len(text) < MAX_CHARACTERS + 10_000


@pytest.mark.parametrize(
    "part", ["<!--", "<!", "<?", "<![x", "</a ", "<script>", "<svg>", "<a href='", "&", "<a "]
)
def test_a_broken_page_is_read_in_the_end(part: str) -> None:
    """Each of these, repeated, is looked at once and not once for each of its characters."""
    assert isinstance(page_text(part * (300_000 // len(part)), URL), str)


@given(
    st.lists(
        st.sampled_from(["<", ">", "!", "--", "a", " ", "&", ";", "/", "'", "script", "pre", "svg", "=", "["])
    )
)
def test_any_text_is_taken(parts: list[str]) -> None:
    assert isinstance(page_text("".join(parts), URL), str)
