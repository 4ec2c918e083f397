"""search_files finds lines by a pattern, within bounds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nonoka.errors import ToolFailure
from tests.support.tool_calls import ToolCalls


@pytest.fixture
def call(tmp_path: Path) -> ToolCalls:
    return ToolCalls(tmp_path)


def put(call: ToolCalls, **files: str) -> None:
    """Files of these names, ``__`` in them for a slash."""
    for name, text in files.items():
        path = call.root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


async def test_matches_come_with_path_and_line_in_the_order_of_paths(call: ToolCalls) -> None:
    put(call, b="x 1\ny\nx 2", a__c="one x\n", a__b__d="x\r\n", z="none")
    (call.root / "a.txt").write_text("x")
    assert await call("search_files", pattern="x") == "a.txt:1: x\na/b/d:1: x\na/c:1: one x\nb:1: x 1\nb:3: x 2"
    assert await call("search_files", pattern="x", path="a") == "a/b/d:1: x\na/c:1: one x"
    assert await call("search_files", pattern="x", path="b") == "b:1: x 1\nb:3: x 2"


async def test_a_pattern_is_a_regular_expression_of_one_line(call: ToolCalls) -> None:
    put(call, f="Alpha\nbeta 12\n\n{3}\n")
    assert await call("search_files", pattern=r"^b\w+ \d{2}$") == "f:2: beta 12"
    assert await call("search_files", pattern="(?i)alpha") == "f:1: Alpha"
    assert await call("search_files", pattern="^$") == "f:3: "
    assert await call("search_files", pattern=r"[{](?P<n>\d)\}") == "f:4: {3}"
    assert await call("search_files", pattern="Alpha\nbeta") == "[no matches; 1 text files were searched]"


@pytest.mark.parametrize("pattern", ["(", "a{5,2}", "[z-a]", "*", r"\p{Foo}", "(" * 1_500, "x" * 3_000])
async def test_what_is_no_pattern_is_said_so(call: ToolCalls, pattern: str) -> None:
    with pytest.raises(ToolFailure, match="the pattern"):
        await call("search_files", pattern=pattern)


async def test_a_bad_pattern_names_the_position(call: ToolCalls) -> None:
    with pytest.raises(ToolFailure, match=r"'ab\(' is not a regular expression: missing \) at position 3"):
        await call("search_files", pattern="ab(")


@pytest.mark.parametrize("pattern", ["(a|aa)+$", "(x|x)*z"])
async def test_a_pattern_that_explodes_is_ended(call: ToolCalls, pattern: str) -> None:
    put(call, a="fine\n", f=f"ok\n{'x' * 200}{'a' * 200}! yz\n")
    with pytest.raises(ToolFailure, match=r"takes more than 0.5 s on line 2 of f; use a simpler one"):
        await call("search_files", pattern=pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:a{3000}){3000}b",
        "(?:(?:a{300}){300}){300}",
        "(?:[)]a{3000}){3000}",
        "(?R)?a",
        "(?#[)(?:a{9}){9}b]",
        "(?ix)a",
    ],
)
async def test_a_pattern_that_would_fill_the_memory_is_refused(call: ToolCalls, pattern: str) -> None:
    with pytest.raises(ToolFailure, match="the pattern"):
        await call("search_files", pattern=pattern)


async def test_repeats_as_people_write_them_are_taken(call: ToolCalls) -> None:
    put(call, f="at 2024-05-06T07:08:09.123 to 2024-05-06T07:08:10.456\n01234567-89ab-cdef-0123-456789abcdef\n")
    time = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}"
    assert (await call("search_files", pattern=f"{time} to {time}")).startswith("f:1:")
    assert (await call("search_files", pattern=r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")).startswith("f:2:")


async def test_what_is_not_meant_is_not_looked_into(call: ToolCalls) -> None:
    put(call, a="x", _git__config="x", node_modules__m="x", d__node_modules__m="x")
    (call.root / ".git").mkdir()
    (call.root / ".git" / "HEAD").write_text("x")
    (call.root / ".nonoka").mkdir()
    (call.root / ".nonoka" / "log").write_text("x")
    (call.root / "link").symlink_to("a")
    (call.root / "loop").symlink_to(".")
    os.mkfifo(call.root / "pipe")
    (call.root / "binary").write_bytes(b"x\0x")
    (call.root / "image").write_bytes(b"\x89PNG\r\n\x1a\nx")
    assert await call("search_files", pattern="x") == "_git/config:1: x\na:1: x"
    assert await call("search_files", pattern="x", path="node_modules") == "node_modules/m:1: x"
    assert await call("search_files", pattern="x", path="link") == "a:1: x"
    for path in (".nonoka", ".nonoka/log", "../x", "pipe", "none"):
        with pytest.raises(ToolFailure):
            await call("search_files", pattern="x", path=path)


async def test_a_file_that_is_too_large_is_named(call: ToolCalls) -> None:
    put(call, a="x\n", large="x" * 5_000_001)
    assert await call("search_files", pattern="x") == "a:1: x\n[not searched, being over 5 MB: large]"


async def test_only_so_many_matches_are_given(call: ToolCalls) -> None:
    put(call, f="x\n" * 200)
    lines = (await call("search_files", pattern="x")).splitlines()
    assert (len(lines), lines[-1]) == (200, "f:200: x")
    put(call, g="x\n")
    lines = (await call("search_files", pattern="x")).splitlines()
    assert lines[200:] == ["[only the first 200 matches; narrow the pattern or the path]"]


async def test_matches_fit_into_a_result(call: ToolCalls) -> None:
    put(call, f=f"{'é' * 290}\n" * 150)
    said = await call("search_files", pattern="é")
    assert len(said.encode()) <= 32_000
    assert "[only the first " in said


async def test_a_long_line_is_shown_around_its_match(call: ToolCalls) -> None:
    put(call, a=f"{'-' * 3000}needle{'-' * 3000}\n", b=f"needle{'-' * 400}", c=f"{'-' * 20_000}needle")
    first, second, note = (await call("search_files", pattern="needle")).splitlines()
    assert first == f"a:1: …{'-' * 75}needle{'-' * 219}…"
    assert second == f"b:1: needle{'-' * 294}…"
    assert note == "[of longer lines only the first 10000 characters were searched]"


async def test_odd_names_and_bytes_stay_one_line_each(call: ToolCalls) -> None:
    (call.root / "new\nline").write_bytes(b"x caf\xe9\n")
    assert await call("search_files", pattern="x") == "'new\\nline':1: x caf\ufffd"
