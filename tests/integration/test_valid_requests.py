"""What a session sends is a valid request, whatever the model and the tools have said before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nonoka import Agent, Runner, tool
from tests.support.openai_server import OpenAIServer, Reply, Request, calls, deltas, text
from tests.support.valid_requests import check_calls_answered, check_valid

#: Astral, combining, bidirectional, noncharacters, controls; and what UTF-8 can't hold.
ODD = "\U0001f9d1‍\U0001f4bb e\u0301 \u202ertl \ufffe \u2028 \x07 \ud83d \udc00\ud83d \x00 end"


@tool(effect="read_only")
async def echo(value: str) -> str:
    """Say it again."""
    return f"{value}{ODD}"


@tool(effect="read_only")
async def fails(value: str = "") -> str:
    """Never succeeds."""
    raise ValueError(f"no{ODD}{value}")


AGENT = Agent("odd", f"Be brief.{ODD}", tools=[echo, fails])

#: One turn each; what the model says is in its place, and the next turn asks again.
TURNS: list[Reply] = [
    calls(("echo", {"value": "a"}), ("echo", {"value": "b"}), ("fails", {}), ids=["c1", "c2", "c3"]),
    calls(("echo", {"value": "a"}), ("echo", {"value": "b"}), ids=["dup", "dup"], content="Both."),
    calls(("echo", {"value": "a"}), ("fails", {"value": "b"}), ids=["", ""]),
    calls(("echo", '{"value": "\\ud83d\\u0000"}'), ("echo", json.dumps({"value": ODD})), ids=["c1", "c1"]),
    calls(("echo", "{bad"), ("echo", ""), ("echo", "[1, 2]"), ("echo", "null"), ids=["c1", "", "", "c1"]),
    calls(("echo", '{"value": NaN}'), ("echo", '{"value": "x", "value": "y"}'), ids=["c1", "c1"]),
    calls(("no such tool!", {"a": 1}), ("x" * 200, {}), ("", {}), ids=["a", "b", "c"], content=" \n"),
    calls(("echo", {"value": "z"}), ids=[ODD], content=ODD),
]


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    return Runner(db=str(tmp_path / "sessions.db"), model="openai:m")


async def answered(runner: Runner, server: OpenAIServer, prompt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    async with runner:
        found = await runner.run_react(AGENT, prompt, max_model_turns=1000, max_tool_calls=None)
    assert found.data == "Done.", found.error


async def test_odd_answers_odd_calls_and_odd_text_never_break_the_next_request(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenAIServer([*TURNS, text("Done.")]) as server:
        await answered(runner, server, f"Go.{ODD}", monkeypatch)
    assert len(server.requests) == len(TURNS) + 1
    for request in server.requests:
        check_valid(request)
    asked = [call for message in server.requests[-1].messages for call in message.get("tool_calls") or []]
    assert len(asked) == sum(len(_names(reply)) for reply in TURNS)


async def test_a_conversation_of_200_turns_is_sent_whole_and_valid(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reply(request: Request) -> Reply:
        turn = sum(message["role"] == "assistant" for message in request.messages)
        odd = TURNS[turn // 25] if turn % 25 == 0 else TURNS[-1]
        return text("Done.") if turn == 199 else odd

    with OpenAIServer(reply) as server:
        await answered(runner, server, "Go.", monkeypatch)
    assert len(server.requests) == 200
    check_valid(server.requests[-1])
    for request in server.requests:
        check_calls_answered(request.messages)
    assert [m["role"] for m in server.requests[-1].messages].count("assistant") == 199


async def test_a_call_cut_by_the_length_of_the_answer_is_told_to_the_model_and_sent_valid(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = {"name": "echo", "arguments": '{"value": "half'}
    cut = deltas([{"tool_calls": [{"index": 0, "id": "c", "function": function}]}], finish="length")
    with OpenAIServer([cut, text("Done.")]) as server:
        await answered(runner, server, "Go.", monkeypatch)
    check_valid(server.requests[-1])
    *_, asked, told = server.requests[-1].messages
    assert json.loads(asked["tool_calls"][0]["function"]["arguments"]) == {"INVALID_JSON": '{"value": "half'}
    assert told["role"] == "tool"


def _names(reply: Reply) -> list[str]:
    found = [delta for frame in reply.frames if isinstance(frame, dict) for delta in frame["choices"]]
    pieces = [piece for choice in found for piece in choice["delta"].get("tool_calls") or ()]
    return [piece["function"]["name"] for piece in pieces if "name" in piece["function"]]
