"""read_result reads on in what was cut out of a result."""

from __future__ import annotations

from pathlib import Path

import pytest

from nonoka.adapters.artifacts import ArtifactFiles
from nonoka.errors import ToolFailure
from tests.support.tool_calls import ToolCalls

WHOLE = "".join(f"line {n} é😀\r\n" for n in range(20_000))


@pytest.fixture
def call(tmp_path: Path) -> ToolCalls:
    """Calls of session ``s``, which has kept a large result."""
    artifacts = ArtifactFiles(tmp_path / "artifacts")
    assert artifacts.keep("s", "call_1_0-1.txt", WHOLE) == "s/call_1_0-1.txt"
    artifacts.keep("other", "call_1_0-1.txt", "another's")
    return ToolCalls(tmp_path, results=lambda handle, offset, limit: artifacts.read("s", handle, offset, limit))


@pytest.mark.parametrize("max_result_bytes", [512, 4_000, 32_768])
async def test_following_the_notes_reads_the_whole(call: ToolCalls, max_result_bytes: int) -> None:
    call.max_result_bytes = max_result_bytes
    read, offset = "", len(WHOLE) - 50_000 if max_result_bytes == 512 else 0
    begun = offset
    while True:
        said = await call("read_result", handle="s/call_1_0-1.txt", offset=offset)
        assert len(said.encode()) <= max_result_bytes
        piece, _, note = said.rpartition("\n[characters ")
        read += piece
        assert note.startswith(f"{offset} to {begun + len(read)} of {len(WHOLE)}; ")
        offset = begun + len(read)
        if note.endswith("; the end]"):
            break
        assert note.endswith(f"; go on with offset {offset}]")
    assert read == WHOLE[begun:]


async def test_a_limit_is_kept(call: ToolCalls) -> None:
    said = await call("read_result", handle="s/call_1_0-1.txt", offset=5, limit=3)
    assert said == f"{WHOLE[5:8]}\n[characters 5 to 8 of {len(WHOLE)}; go on with offset 8]"


async def test_past_the_end_there_is_nothing(call: ToolCalls) -> None:
    said = await call("read_result", handle="s/call_1_0-1.txt", offset=len(WHOLE))
    assert said == f"[the result has {len(WHOLE)} characters; there is no character {len(WHOLE)}]"


@pytest.mark.parametrize("handle", ["other/call_1_0-1.txt", "call_1_0-1.txt", "", "s/none.txt", "../x", "\ud83d"])
async def test_what_is_not_of_this_session_is_not_read(call: ToolCalls, handle: str) -> None:
    with pytest.raises(ToolFailure, match="is kept in this session"):
        await call("read_result", handle=handle)


async def test_a_call_without_kept_results_says_so(tmp_path: Path) -> None:
    with pytest.raises(ToolFailure, match="can't read kept results"):
        await ToolCalls(tmp_path)("read_result", handle="s/x")
