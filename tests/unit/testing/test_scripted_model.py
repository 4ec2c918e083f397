"""A scripted model in a test's Runner."""

from __future__ import annotations

from pathlib import Path

import pytest

from nonoka import Agent, tool
from nonoka.errors import UsageError
from nonoka.records.memory import MemoryRole
from nonoka.testing import ManualClock, Response, ScriptedModel, asks, runner


@tool(effect="read_only")
def look(place: str) -> str:
    """Look at a place."""
    return f"the {place} is empty"


AGENT = Agent("scout", "You look.", tools=[look])


async def test_it_says_what_was_written_down_and_keeps_what_it_was_asked(tmp_path: Path) -> None:
    both: Response = {
        "text": "I look.",
        "tool_calls": [{"name": "look", "args": {"place": "hall"}}, {"name": "look", "args": "{"}],
    }
    model = ScriptedModel([both, "Empty."])
    async with runner(tmp_path, model) as scripted:
        result = await scripted.run_react(AGENT, "What is there?")
    assert result.data == "Empty."
    first, second = model.requests
    assert (first.instructions, first.tools[0].name) == ("You look.", "look")
    assert [entry.content for entry in first.entries] == ["What is there?"]
    assert [entry.role for entry in second.entries[2:]] == [MemoryRole.TOOL, MemoryRole.TOOL]
    assert second.entries[2].content == "the hall is empty"


async def test_it_answers_each_session_from_the_start(tmp_path: Path) -> None:
    async with runner(tmp_path, ScriptedModel([asks("look", place="hall"), "Empty."])) as scripted:
        answers = [(await scripted.run_react(AGENT, prompt)).data for prompt in ("One", "Two")]
    assert answers == ["Empty.", "Empty."]


async def test_no_other_model_can_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in the environment of whoever runs the tests costs nobody anything."""
    monkeypatch.setenv("OPENAI_API_KEY", "a real one")
    monkeypatch.setenv("NONOKA_MODEL", "openai:gpt-4o")
    async with runner(tmp_path) as scripted:
        with pytest.raises(UsageError, match="OPENAI_API_KEY"):
            await scripted.run_react(Agent("real", model="openai:gpt-4o"), "Hello")
        with pytest.raises(UsageError, match="no model"):
            await scripted.run_react(AGENT, "Hello")


async def test_what_is_no_response_is_named(tmp_path: Path) -> None:
    wrong: Response = {"txt": "Hello."}  # type: ignore[typeddict-unknown-key]
    async with runner(tmp_path, ScriptedModel([wrong])) as scripted:
        with pytest.raises(UsageError, match="response 1: txt"):
            await scripted.run_react(AGENT, "Hello")


async def test_waits_of_minutes_are_over_at_once_by_hand(tmp_path: Path) -> None:
    """A server that is busy five times is asked six times, and only the clock has moved."""
    clock = ManualClock()
    model = ScriptedModel([{"text": "At last.", "error": {"status": 503, "times": 5}}])
    began = clock.now_ms()
    async with runner(tmp_path, model, clock=clock) as scripted:
        result = await clock.passing(scripted.run_react(AGENT, "Hello"))
    assert result.data == "At last."
    assert len(model.requests) == 6
    assert clock.now_ms() - began > 5_000
