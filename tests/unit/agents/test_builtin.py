"""The default agent's tools."""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path

import pytest

from nonoka.agents.agent import Agent
from nonoka.agents.builtin import default_agent
from nonoka.agents.builtin.files import READ_BYTES
from nonoka.errors import ToolFailure
from nonoka.ports.processes import CommandResult
from nonoka.records.tool import Effect
from tests.support.tool_calls import ToolCalls as Call

AGENT = default_agent({})


@pytest.fixture
def call(tmp_path: Path) -> Call:
    return Call(tmp_path)


def test_the_default_agent_has_its_tools_with_their_effects() -> None:
    assert isinstance(AGENT, Agent)
    assert AGENT.name == "default"
    assert {tool.name: tool.effect for tool in AGENT.tools} == {
        "read_file": Effect.READ_ONLY,
        "write_file": Effect.WORKSPACE,
        "edit_file": Effect.WORKSPACE,
        "list_files": Effect.READ_ONLY,
        "search_files": Effect.READ_ONLY,
        "run_command": Effect.WORKSPACE,
        "fetch_url": Effect.READ_ONLY,
        "read_result": Effect.READ_ONLY,
    }


def test_their_arguments_are_those_of_the_contract() -> None:
    found = {
        spec.name: (list(spec.parameters["properties"]), spec.parameters.get("required", []))  # type: ignore[arg-type]
        for spec in AGENT.specs
    }
    assert found == {
        "read_file": (["path", "offset", "limit"], ["path"]),
        "write_file": (["path", "content"], ["path", "content"]),
        "edit_file": (["path", "old", "new"], ["path", "old", "new"]),
        "list_files": (["path"], []),
        "search_files": (["pattern", "path"], ["pattern"]),
        "run_command": (["command", "timeout_s"], ["command"]),
        "fetch_url": (["url"], ["url"]),
        "read_result": (["handle", "offset", "limit"], ["handle"]),
    }
    for spec in AGENT.specs:
        assert spec.description
        for field in spec.parameters["properties"].values():  # type: ignore[union-attr]
            assert field["description"]  # type: ignore[index,call-overload]


async def test_what_is_written_is_read_back_as_it_is(call: Call) -> None:
    for text in ("one\ntwo\n", "no end", "\n", "a\r\nb\r\n", "é😀\t\n"):
        assert (
            await call("write_file", path="d/x.txt", content=text)
            == f"wrote {len(text.encode())} bytes to d/x.txt"
        )
        assert await call("read_file", path="d/x.txt") == text


async def test_a_part_of_a_file_says_what_it_is_a_part_of(call: Call) -> None:
    (call.root / "n").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    assert (
        await call("read_file", path="n", limit=2) == "line 1\nline 2\n[lines 1 to 2 of 10; go on with offset 3]"
    )
    assert await call("read_file", path="n", offset=9) == "line 9\nline 10\n"
    assert await call("read_file", path="n", offset=10, limit=1) == "line 10\n"
    assert await call("read_file", path="n", offset=11) == "[the file has 10 lines; there is no line 11]"
    assert await call("read_file", path="n", offset=500) == "[the file has 10 lines; there is no line 500]"
    (call.root / "n").write_text("a\nb\nc")
    assert await call("read_file", path="n", limit=2) == "a\nb\n[lines 1 to 2 of 3; go on with offset 3]"
    assert await call("read_file", path="n", offset=3) == "c"
    assert await call("read_file", path="n", offset=4) == "[the file has 3 lines; there is no line 4]"


async def test_an_empty_file_is_called_empty(call: Call) -> None:
    (call.root / "n").touch()
    assert await call("read_file", path="n") == "[the file is empty]"


async def test_following_the_notes_reads_the_whole_of_a_long_file(call: Call) -> None:
    whole = "".join(f"{n} {'é' * (n % 300)}\n" for n in range(3_000))
    (call.root / "long").write_text(whole)
    read, offset = "", 1
    while True:
        part = await call("read_file", path="long", offset=offset)
        assert len(part.encode()) <= 32_768
        if "go on with offset" not in part:
            break
        body, _, note = part.rpartition("[lines ")
        read += body
        offset = int(note.split("offset ")[1].rstrip("]"))
    assert read + part == whole


async def test_a_line_of_20_mb_shows_its_beginning(call: Call) -> None:
    (call.root / "flood").write_bytes(b"first\n" + b"x" + "é".encode() * 10_000_000 + b"\nlast\n")
    text = await call("read_file", path="flood", offset=2)
    assert text.startswith("xéé")
    assert text.endswith(
        f"é\n[lines 2 to 2 of 3; line 2 is too long, only its first {READ_BYTES} bytes are shown;"
        " go on with offset 3]"
    )
    assert "\ufffd" not in text
    assert len(text.encode()) <= 32_768
    assert await call("read_file", path="flood", offset=3) == "last\n"
    assert await call("read_file", path="flood", limit=1) == "first\n[lines 1 to 1 of 3; go on with offset 2]"


async def test_a_carriage_return_flood_without_an_end_is_one_long_line(call: Call) -> None:
    (call.root / "progress").write_bytes(b"50%\r" * 1_000_000)
    text = await call("read_file", path="progress")
    assert text.endswith(f"[lines 1 to 1 of 1; line 1 is too long, only its first {READ_BYTES} bytes are shown]")


async def test_a_huge_file_is_not_counted_to_its_end(call: Call) -> None:
    (call.root / "huge").write_bytes(b"x" * 9_000 + b"\n" + b"y\n" * 50_000)
    os.truncate(call.root / "huge", 10_000_000_000)
    text = await call("read_file", path="huge", limit=1)
    assert "[lines 1 to 1 of at least 500" in text


async def test_binary_and_image_files_get_a_plain_answer(call: Call) -> None:
    (call.root / "b").write_bytes(b"ab\0cd")
    (call.root / "i").write_bytes(b"\x89PNG\r\n\x1a\n....")
    (call.root / "j").write_bytes(b"\xff\xd8\xff\xe0no nul")
    assert await call("read_file", path="b") == "[b is a binary file of 5 bytes; it can't be shown as text]"
    assert await call("read_file", path="i") == "[i is an image (PNG) of 12 bytes; it can't be shown as text]"
    assert await call("read_file", path="j") == "[j is an image (JPEG) of 10 bytes; it can't be shown as text]"


async def test_bytes_that_are_not_utf8_are_replaced(call: Call) -> None:
    (call.root / "latin").write_bytes(b"caf\xe9\n")
    assert await call("read_file", path="latin") == "caf\ufffd\n"


async def test_a_file_that_is_not_there_is_said_so(call: Call) -> None:
    with pytest.raises(ToolFailure, match="'none': No such file"):
        await call("read_file", path="none")
    with pytest.raises(ToolFailure, match="outside the workspace"):
        await call("read_file", path="../x")


@pytest.mark.parametrize("args", [{"offset": 0}, {"limit": 0}, {"offset": -3}])
async def test_lines_count_from_one(call: Call, args: dict[str, int]) -> None:
    with pytest.raises(ToolFailure, match="greater than or equal to 1"):
        await call("read_file", path="x", **args)


async def test_a_listing_is_sorted_and_marks_directories(call: Call) -> None:
    for name in (
        "b/c/d.txt",
        "a.txt",
        "b/.git/HEAD",
        ".nonoka/sessions.db",
        "b/.nonoka/x",
        "node_modules/m/x.js",
        "z",
    ):
        path = call.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (call.root / "link").symlink_to("b")
    (call.root / "out").symlink_to("..")
    (call.root / ".nonoka-0123.tmp").touch()
    expected = ["a.txt", "b/", "b/.git/", "b/c/", "b/c/d.txt", "link", "node_modules/", "out", "z"]
    assert (await call("list_files")).splitlines() == expected
    assert (await call("list_files", path=str(call.root))).splitlines() == expected
    assert (await call("list_files", path="b")).splitlines() == ["b/.git/", "b/c/", "b/c/d.txt"]
    assert (await call("list_files", path="link/../b/c/")).splitlines() == ["b/c/d.txt"]
    assert (await call("list_files", path="node_modules")).splitlines() == [
        "node_modules/m/",
        "node_modules/m/x.js",
    ]
    with pytest.raises(ToolFailure, match="outside"):
        await call("list_files", path="out")


async def test_an_empty_directory_and_a_missing_one_are_said_so(call: Call) -> None:
    assert await call("list_files") == "[the directory is empty]"
    with pytest.raises(ToolFailure, match="No such file"):
        await call("list_files", path="none")


async def test_a_large_tree_shows_what_is_nearest(call: Call) -> None:
    (call.root / "a").mkdir()
    for n in range(1_200):
        (call.root / "a" / f"{n:04}").touch()
    (call.root / "z").touch()
    lines = (await call("list_files")).splitlines()
    assert lines[:2] == ["a/", "a/0000"]
    assert lines[-2:] == ["z", "[only the nearest 1000 entries; list a directory among them to see more]"]
    assert len(lines) == 1_001


async def test_odd_names_stay_one_line_each(call: Call) -> None:
    (call.root / "new\nline").touch()
    (call.root / "日本 語").touch()
    os.close(os.open(os.fsencode(call.root) + b"/\xff", os.O_CREAT | os.O_WRONLY))
    assert (await call("list_files")).splitlines() == ["'new\\nline'", "日本 語", "'\\udcff'"]


async def test_a_command_gives_exit_code_and_output(call: Call) -> None:
    call.ended = CommandResult(exit_code=3, output=b"hello \xff\0\n")
    text = await call("run_command", command="x")
    assert json.loads(text) == {"exit_code": 3, "output": "hello \ufffd\ufffd\n"}
    assert text.index("exit_code") < text.index("output")
    assert call.asked == [("x", 120.0)]


async def test_a_command_that_was_ended_for_its_time_says_so(call: Call) -> None:
    call.ended = CommandResult(exit_code=None, output=b"so far", dropped_bytes=9)
    found = json.loads(await call("run_command", command="x", timeout_s=5))
    assert found["exit_code"] is None
    assert found["output"] == "so far"
    assert "ended after 5 s" in found["note"]
    assert "9 bytes" in found["note"]


async def test_a_command_may_take_the_time_it_asked_for(call: Call) -> None:
    tool = AGENT.tool("run_command")
    assert tool is not None
    assert tool.timeout_s == 120
    assert tool.timeout_of(tool.validated({"command": "x", "timeout_s": 3600})) > 3600
    assert tool.timeout_of(tool.validated({"command": "x"})) > 120
    for wrong in (0, 3601, "soon"):
        with pytest.raises(ToolFailure, match="timeout_s"):
            await call("run_command", command="x", timeout_s=wrong)


def test_files_are_read_in_threads_and_commands_and_pages_on_the_loop() -> None:
    for tool in AGENT.tools:
        assert inspect.iscoroutinefunction(tool.function) is (tool.name in ("run_command", "fetch_url"))
