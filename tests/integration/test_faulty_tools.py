"""Whatever a tool returns, raises or leaves behind: its call has one result, the session goes on, and the next
request is strict JSON in strict UTF-8."""

from __future__ import annotations

from pathlib import Path

import pytest

from nonoka import Agent, Runner
from tests.support.faulty_tools import ERRORS, FAULTY, VALUES
from tests.support.openai_server import Json, OpenAIServer, calls, text
from tests.support.valid_requests import check_valid

AGENT = Agent("faulty", "Be brief.", tools=FAULTY)
#: More than any result may hold, and what surrounds it.
LARGEST = 33_000


async def told(asked: list[tuple[str, Json | str]], path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the model is told of these calls, in order, in a session that is answered then."""
    monkeypatch.chdir(path)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with OpenAIServer([calls(*asked, ids=[f"c{n}" for n in range(len(asked))]), text("Done.")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        async with Runner(db=str(path / "sessions.db"), model="openai:m") as runner:
            found = await runner.run_react(AGENT, "Go.")
    assert found.data == "Done.", found.error
    assert len(server.requests) == 2
    check_valid(server.requests[1])
    return [str(message["content"]) for message in server.requests[1].messages if message["role"] == "tool"]


@pytest.mark.parametrize("tool", ["returns", "returns_async"])
async def test_whatever_a_tool_returns_is_a_result(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = await told([(tool, {"kind": kind}) for kind in VALUES], tmp_path, monkeypatch)
    assert len(results) == len(VALUES)
    for kind, result in zip(VALUES, results, strict=True):
        assert len(result.encode()) <= LARGEST, kind
        assert result, kind
        print(kind, repr(result[:150]))


@pytest.mark.parametrize("tool", ["raises", "raises_async"])
async def test_whatever_a_tool_raises_is_its_result(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = await told([(tool, {"kind": kind}) for kind in ERRORS], tmp_path, monkeypatch)
    for (kind, make), result in zip(ERRORS.items(), results, strict=True):
        assert len(result.encode()) <= LARGEST, kind
        print(kind, repr(result[:150]))
        assert type(make()).__name__ in result, kind
