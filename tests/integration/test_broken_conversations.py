"""A conversation that a hand broke in the store is brought to a valid one before a strict server sees it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nonoka import Agent, Runner, RunResult, tool
from nonoka.decisions.conversation_repair import INTERRUPTED
from nonoka.decisions.conversation_rules import first_fault
from nonoka.records.event import EventType
from nonoka.records.memory import MemoryEntry
from nonoka.records.session import SessionState, SessionStatus
from tests.support.broken_conversations import broken
from tests.support.openai_server import OpenAIServer, calls, text
from tests.support.valid_requests import check_valid

#: 0 the prompt, 1 two calls, 2 and 3 their results, 4 one call, 5 its result, 6 the answer.
SCRIPT = [
    calls(("echo", {"value": "a"}), ("echo", {"value": "b"})),
    calls(("echo", {"value": "c"})),
    text("Done."),
]

#: How many of the fuzzer's go over HTTP.
BROKEN = 40


@tool(effect="read_only")
async def echo(value: str) -> str:
    """Say it again."""
    return f"echo {value}"


AGENT = Agent("echoing", "Be brief.", tools=[echo])


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    return tmp_path / "sessions.db"


async def work(
    db: Path, server: OpenAIServer, prompt: str, session_id: str = ""
) -> tuple[RunResult, SessionState]:
    """A new process gives the session its next prompt, or makes a new one of it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("OPENAI_BASE_URL", server.url)
        async with Runner(db=str(db), model="openai:m", agents=[AGENT]) as runner:
            if session_id:
                await runner.send(session_id, prompt)
                result = await runner.resume(session_id)
            else:
                result = await runner.run_react(AGENT, prompt)
            return result, await runner.get_state(result.session_id)


def by_hand(db: Path, *statements: str) -> None:
    with closing(sqlite3.connect(db)) as opened, opened:
        for statement in statements:
            opened.execute(statement)


def stored(db: Path) -> list[tuple[int, bool]]:
    """Each position that was ever written, and whether it was withdrawn."""
    with closing(sqlite3.connect(db)) as opened:
        return opened.execute(
            "SELECT position, withdrawn_at IS NOT NULL FROM memory_entries ORDER BY 1"
        ).fetchall()


async def told_repairs(db: Path, session_id: str) -> list[str]:
    async with Runner(db=str(db), model="openai:m", agents=[AGENT]) as runner:
        events = await runner.ports.store.events_after(session_id, 0)
    return [str(event.data["done"]) for event in events if event.type is EventType.SESSION_REPAIRED]


COPY = "INSERT INTO memory_entries SELECT session_id, 7, role, content, metadata, tokens, NULL FROM memory_entries"
NO_ID = "UPDATE memory_entries SET metadata = json_set(metadata, '$.tool_call_id', '') WHERE role = 'tool'"
BLANK_ID = "UPDATE memory_entries SET metadata = replace(metadata, '\"{id}\"', '\"\"') WHERE position = 1"
MOVE = "UPDATE memory_entries SET position = {to} WHERE position = {at}"
SET = "UPDATE memory_entries SET {what} WHERE position = {at}"


@pytest.mark.parametrize(
    ("statements", "heard"),
    [
        (["DELETE FROM memory_entries WHERE position = 3"], ["echo a", INTERRUPTED, "echo c"]),
        (["DELETE FROM memory_entries WHERE position = 4"], ["echo a", "echo b"]),
        ([f"{COPY} WHERE position = 2"], ["echo a", "echo b", "echo c"]),
        (
            [NO_ID, BLANK_ID.format(id="call_1_0"), BLANK_ID.format(id="call_1_1")],
            ["echo a", "echo b", "echo c"],
        ),
        (
            [MOVE.format(at=2, to=9), MOVE.format(at=3, to=2), MOVE.format(at=9, to=3)],
            ["echo a", "echo b", "echo c"],
        ),
        ([SET.format(what="metadata = '[]'", at=2)], ["echo a", "echo b", "echo c"]),
        ([SET.format(what="metadata = '{\"tool_calls\": [7]}'", at=1)], ["echo c"]),
        (["DELETE FROM memory_entries WHERE position < 3"], ["echo c"]),
        ([SET.format(what="role = 'user'", at=5)], ["echo a", "echo b", INTERRUPTED]),
    ],
    ids=[
        "orphan call",
        "orphan result",
        "doubled",
        "empty ids",
        "swapped",
        "no metadata",
        "garbled",
        "cut",
        "role",
    ],
)
async def test_the_next_prompt_goes_on_from_a_valid_conversation(
    db: Path, statements: list[str], heard: list[str]
) -> None:
    """The model hears each result once, under its call; the repair is told and stored, and done once."""
    with OpenAIServer([*SCRIPT, text("On."), text("And on.")]) as server:
        made, _ = await work(db, server, "Go.")
        by_hand(db, *statements)
        found = stored(db)
        result, state = await work(db, server, "Go on.", made.session_id)
        again, _ = await work(db, server, "And on.", made.session_id)
    assert (result.data, again.data) == ("On.", "And on.")
    assert len(server.requests) == 5
    for request in server.requests:
        check_valid(request)
    last = server.requests[3].messages
    assert [message["content"] for message in last if message["role"] == "tool"] == heard
    assert last[-1] == {"role": "user", "content": "Go on."}
    assert first_fault(state.memory_entries) is None
    assert len(await told_repairs(db, made.session_id)) == 1
    assert {position for position, _ in found} <= {position for position, _ in stored(db)}
    assert any(withdrawn for _, withdrawn in stored(db))


async def test_an_open_turn_whose_request_is_gone_is_closed(db: Path) -> None:
    """Its entry was deleted while its calls waited: a retry goes on, nothing waits for them for ever."""
    with OpenAIServer([SCRIPT[0], text("On."), text("Back.")]) as server:
        made, _ = await work(db, server, "Go.")
        by_hand(
            db,
            "DELETE FROM memory_entries WHERE position IN (1, 4)",
            "UPDATE checkpoints SET state_json = json_set(state_json, '$.runtime_state.open_turn',"
            ' json(\'{"turn": 1, "position": 1, "calls": 2}\'))',
        )
        result, state = await work(db, server, "Go on.", made.session_id)
    assert (result.status, result.data) == (SessionStatus.COMPLETED, "Back.")
    assert state.runtime_state.open_turn is None


async def test_whatever_a_conversation_was_broken_to_a_strict_server_takes_the_next_request(db: Path) -> None:
    """Some of the fuzzer's, each in a session of its own, over HTTP."""
    with OpenAIServer(lambda request: text("Done.")) as server:
        made = [(await work(db, server, "Go."))[0].session_id for _ in range(BROKEN)]
        for number, session_id in enumerate(made):
            replace_entries(db, session_id, broken(number))
        for session_id in made:
            result, state = await work(db, server, "Go on.", session_id)
            assert result.data == "Done."
            assert first_fault(state.memory_entries) is None
    for request in server.requests:
        check_valid(request)
    assert len(server.requests) == 2 * BROKEN


def replace_entries(db: Path, session_id: str, entries: list[MemoryEntry]) -> None:
    rows = [
        (
            session_id,
            e.position,
            e.role.value,
            e.content.encode("utf-8", "replace").decode(),
            json.dumps(e.metadata),
        )
        for e in entries
    ]
    with closing(sqlite3.connect(db)) as opened, opened:
        opened.execute("DELETE FROM memory_entries WHERE session_id = ?", (session_id,))
        opened.executemany("INSERT INTO memory_entries VALUES (?, ?, ?, ?, ?, 0, NULL)", rows)
