"""edit_file changes the one place that was meant, or nothing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nonoka.agents.builtin.editing import _places
from nonoka.agents.builtin.near_misses import near_misses
from nonoka.errors import ToolFailure
from tests.support.tool_calls import ToolCalls

CODE = "def a():\n    return 1\n\n\ndef b():\n    return 2\n"


@pytest.fixture
def call(tmp_path: Path) -> ToolCalls:
    (tmp_path / "a.py").write_bytes(CODE.encode())
    return ToolCalls(tmp_path)


async def refusal(call: ToolCalls, path: str, old: str, new: str) -> str:
    """Why an edit was refused; the file is as before."""
    before = (call.root / path).read_bytes() if (call.root / path).is_file() else None
    with pytest.raises(ToolFailure) as failure:
        await call("edit_file", path=path, old=old, new=new)
    assert before is None or (call.root / path).read_bytes() == before
    return str(failure.value)


async def test_an_edit_changes_its_one_place(call: ToolCalls) -> None:
    said = await call("edit_file", path="a.py", old="    return 2", new="    x = 2\n    return x")
    assert said == "edited a.py at line 6: 1 line replaced by 2 lines"
    assert (call.root / "a.py").read_text() == CODE.replace("    return 2", "    x = 2\n    return x")


async def test_an_empty_new_text_deletes(call: ToolCalls) -> None:
    await call("edit_file", path="a.py", old="\n\ndef b():\n    return 2\n", new="")
    assert (call.root / "a.py").read_text() == "def a():\n    return 1\n"


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
async def test_the_end_of_a_file_stays_as_it_is(call: ToolCalls, end: str) -> None:
    (call.root / "e").write_text(f"one\ntwo{end}")
    await call("edit_file", path="e", old="two", new="three")
    assert (call.root / "e").read_text() == f"one\nthree{end}"


async def test_a_file_with_windows_line_endings_keeps_them(call: ToolCalls) -> None:
    file = call.root / "w.txt"
    file.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    await call("edit_file", path="w.txt", old="one\ntwo", new="1\n2\n2a")
    assert file.read_bytes() == b"1\r\n2\r\n2a\r\nthree\r\n"
    await call("edit_file", path="w.txt", old="three", new="3\n4")
    assert file.read_bytes() == b"1\r\n2\r\n2a\r\n3\r\n4\r\n"
    await call("edit_file", path="w.txt", old="\n3", new="\nIII")
    assert file.read_bytes() == b"1\r\n2\r\n2a\r\nIII\r\n4\r\n"


async def test_where_endings_are_mixed_the_place_decides(call: ToolCalls) -> None:
    file = call.root / "m.txt"
    file.write_bytes(b"a\r\nb\r\nc\r\nd\ne\n")
    await call("edit_file", path="m.txt", old="d\ne\n", new="D\nE\nF\n")
    assert file.read_bytes() == b"a\r\nb\r\nc\r\nD\nE\nF\n"


async def test_endings_that_are_asked_for_are_taken_as_they_are(call: ToolCalls) -> None:
    file = call.root / "w.txt"
    file.write_bytes(b"one\r\ntwo\n")
    assert "does not hold this text" in await refusal(call, "w.txt", "two\r\n", "x")
    await call("edit_file", path="w.txt", old="one\r\n", new="1\r\n")
    assert file.read_bytes() == b"1\r\ntwo\n"


async def test_a_mode_is_kept_and_no_other_file_is_left(call: ToolCalls) -> None:
    os.chmod(call.root / "a.py", 0o751)
    await call("edit_file", path="a.py", old="return 1", new="return 3")
    assert stat.S_IMODE((call.root / "a.py").stat().st_mode) == 0o751
    assert os.listdir(call.root) == ["a.py"]


async def test_a_text_that_is_there_twice_is_refused_with_its_lines(call: ToolCalls) -> None:
    assert "2 times, at lines 2, 6" in await refusal(call, "a.py", "    return ", "    yield ")
    (call.root / "a.py").write_text("aaa")
    assert "2 times" in await refusal(call, "a.py", "aa", "b")
    (call.root / "a.py").write_text("x\n" * 30)
    assert "30 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …" in await refusal(call, "a.py", "x", "y")


async def test_a_text_that_is_not_there_shows_the_nearest_lines(call: ToolCalls) -> None:
    said = await refusal(call, "a.py", "def b(self):\n    return 2\n", "x")
    assert "must be there exactly" in said
    assert said.endswith("with line numbers:\n1: def a():\n2:     return 1\n--\n5: def b():\n6:     return 2")


async def test_a_difference_in_whitespace_is_shown_as_such(call: ToolCalls) -> None:
    said = await refusal(call, "a.py", "def b():\n\treturn 2", "x")
    assert "5: 'def b():'\n6: '    return 2'\n(only the whitespace differs here)" in said


async def test_where_nothing_is_alike_that_is_said(call: ToolCalls) -> None:
    assert "Nothing in it is like it" in await refusal(call, "a.py", "#" * 70, "x")
    (call.root / "none").touch()
    assert "Nothing in it is like it" in await refusal(call, "none", "x", "y")


async def test_an_edit_that_is_none_is_refused(call: ToolCalls) -> None:
    assert "nothing was changed" in await refusal(call, "a.py", "return 1", "return 1")
    assert "write_file" in await refusal(call, "a.py", "", "x")
    assert "write_file" in await refusal(call, "new.py", "", "x")
    assert not (call.root / "new.py").exists()


async def test_what_is_no_text_gets_a_plain_answer(call: ToolCalls) -> None:
    (call.root / "i").write_bytes(b"\x89PNG\r\n\x1a\n")
    (call.root / "b").write_bytes(b"a\0b")
    (call.root / "latin").write_bytes(b"caf\xe9 one\n")
    assert "is an image (PNG); it can't be edited" in await refusal(call, "i", "PNG", "x")
    assert "is a binary file; it can't be edited" in await refusal(call, "b", "a", "x")
    assert "is not UTF-8 text (byte 3)" in await refusal(call, "latin", "one", "two")
    (call.root / "large").write_bytes(b"x\n" * 5_000_001)
    assert "larger than 10 MB" in await refusal(call, "large", "x", "y")


async def test_an_edit_stays_in_the_workspace(call: ToolCalls) -> None:
    assert "outside the workspace" in await refusal(call, "../x", "a", "b")
    assert "No such file" in await refusal(call, "none", "a", "b")
    assert "nonoka's own" in await refusal(call, ".nonoka/x", "a", "b")


@pytest.mark.parametrize(("old", "new"), [("return 2", "return 22"), ("return 2", "yield 2"), ("b", "b\nb2")])
async def test_an_edit_that_was_made_by_an_attempt_cut_off_is_not_made_twice(
    call: ToolCalls, old: str, new: str
) -> None:
    """After its write, before its result was kept: the call is run again."""
    (call.root / "a.py").write_text("a\nb, return 2\n" if old == "return 2" else "a\nb\n")
    await call("edit_file", path="a.py", old=old, new=new)
    made = (call.root / "a.py").read_text()
    said = await call.again()("edit_file", path="a.py", old=old, new=new)
    assert "holds the new text at line 2" in said
    assert (call.root / "a.py").read_text() == made


async def test_an_attempt_that_was_cut_off_before_its_write_is_made_up_for(call: ToolCalls) -> None:
    await call.again()("edit_file", path="a.py", old="return 2", new="return 22")
    assert (call.root / "a.py").read_text() == CODE.replace("return 2", "return 22")


@given(text=st.text("ab\r\n", max_size=30), wanted=st.text("ab\n", min_size=1, max_size=4))
def test_places_are_those_of_the_text_with_plain_endings(text: str, wanted: str) -> None:
    """Each place where the text would be if all endings were plain is found, and found once."""
    plain = text.replace("\r\n", "\n")
    expected = sum(plain.startswith(wanted, at) for at in range(len(plain)))
    found = _places(text, wanted)
    assert len(found) == expected
    assert all(text[start:end].replace("\r\n", "\n") == wanted for start, end in found)


def test_near_misses_of_a_large_text_name_the_right_line() -> None:
    """Also where most of its lines are somewhat alike."""
    lines = [f"value_{n} = compute({n * 7919 % 1000}, name='{n}')" for n in range(40_000)]
    lines.insert(31_234, "    total = sum(value for value in everything if value.counts)")
    near = near_misses("\n".join(lines), "total = sum(v for v in everything if v.counts)")
    assert near == "31235:     total = sum(value for value in everything if value.counts)"
