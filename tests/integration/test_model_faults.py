"""Every way in which a model's server fails, from the session's side: what may pass is a row that waits its time,
what won't is one request. One attempt is one HTTP request, and each request is one a strict server takes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from threading import Lock

import pytest

from nonoka import Agent, Runner, tool
from nonoka.adapters.models.patience import Timeouts
from nonoka.entrypoints.cli.contract import session_contract
from nonoka.entrypoints.cli.page import session_page
from nonoka.entrypoints.cli.standstill import Workers
from nonoka.records.commit import SessionDetail
from nonoka.records.event import Event, EventType
from nonoka.records.session import SessionStatus
from tests.support.impatient import impatient_runner
from tests.support.openai_server import (
    OpenAIServer,
    Reply,
    Request,
    calls,
    deltas,
    frames,
    hang_up,
    silence,
    status,
    text,
)
from tests.support.valid_requests import check_valid

#: Shorter than any stall here, longer than a busy machine makes an honest server look dead.
TIMEOUTS = Timeouts(connect_s=5, first_event_s=4, chunk_s=4, whole_s=7)

MAY_PASS: dict[str, tuple[Reply, str]] = {
    "500": (status(500, "oops"), "server_error"),
    "503 with Retry-After": (status(503, "busy", retry_after="1"), "server_error"),
    "429": (status(429, "slow down"), "rate_limited"),
    "429 with Retry-After": (status(429, "slow down", retry_after="1"), "rate_limited"),
    "no answer": (hang_up(), "network"),
    "silence": (silence(), "timeout"),
    "dropped": (text("half an answer").ending("drop"), "cut_off"),
    "closed": (text("half an answer").ending("close"), "cut_off"),
    "stalled": (text("half an answer").ending("stall"), "timeout"),
    "call dropped": (calls(("echo", {"value": "a"})).ending("drop"), "cut_off"),
    "call closed": (calls(("echo", {"value": "a"})).ending("close"), "cut_off"),
    "endless trickle": (text("x" * 60, chunks=60).trickling(0.2), "timeout"),
    "no JSON": (frames(*text("half").frames, "{bad"), "server_error"),
    "no JSON at all": (frames("{bad"), "server_error"),
    "error frame": (frames(*text("half").frames, {"error": {"message": "boom"}}), "server_error"),
    "neither text nor call": (deltas([]), "empty_answer"),
    "blank text": (text(" \n"), "empty_answer"),
}

WONT_PASS: dict[str, tuple[Reply, str, str]] = {
    "400": (status(400, "messages[3] is odd"), "bad_request", "mend what it names"),
    "401": (status(401, "no such key"), "unauthorized", "set OPENAI_API_KEY"),
    "403": (status(403, "not yours"), "unauthorized", "set OPENAI_API_KEY"),
    "404": (status(404, "gone"), "unknown_model", "choose another with --model"),
    "no credit": (status(429, "none left", error_code="insufficient_quota"), "rate_limited", "top it up"),
}

#: Odd, but answers: the session goes on, and its next request is valid.
ODD: dict[str, Reply] = {
    "repeated ids": calls(("echo", {"value": "a"}), ("echo", {"value": "b"}), ids=["dup", "dup"]),
    "empty ids": calls(("echo", {"value": "a"}), ("echo", {"value": "b"}), ids=["", ""]),
    "no JSON in arguments": calls(("echo", "{bad"), ("echo", "[1]"), ids=["a", "b"]),
    "unknown tool": calls(("no such", {}), ids=["a"]),
    "no usage": calls(("echo", {"value": "a"}), usage=None),
    "all of index 0": deltas(
        [
            {
                "tool_calls": [
                    {"index": 0, "id": one, "function": {"name": "echo", "arguments": f'{{"value": "{one}"}}'}}
                ]
            }
            for one in ("a", "b")
        ],
        finish="tool_calls",
    ),
    "slow but steady": calls(("echo", {"value": "a"})).trickling(0.2),
}


@tool(effect="read_only")
async def echo(value: str) -> str:
    """Say it again."""
    return f"echo {value}"


AGENT = Agent("echoing", "Be brief.", tools=[echo])


@dataclass
class Failing:
    """Answers each session by its prompt: the first of what is set for it, then the next; at last "Done."."""

    replies: dict[str, list[Reply]]
    asked: dict[str, int] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, request: Request) -> Reply:
        prompt = next(str(m["content"]) for m in request.messages if m["role"] == "user")
        with self._lock:
            number = self.asked[prompt] = self.asked.get(prompt, 0) + 1
        planned = self.replies[prompt]
        return planned[number - 1] if number <= len(planned) else text("Done.")


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[OpenAIServer], Runner]:
    monkeypatch.chdir(tmp_path)
    return lambda server: impatient_runner(tmp_path / "sessions.db", server.url, AGENT, TIMEOUTS)


async def detail_of(runner: Runner, session_id: str) -> SessionDetail:
    return await runner.ports.store.detail(session_id)


def told(detail: SessionDetail, kind: EventType) -> list[Event]:
    return [event for event in detail.events if event.type is kind]


def page_of(detail: SessionDetail, now: int) -> str:
    return "".join(span.text for span in session_page(detail, Workers(), now))


async def test_what_may_pass_is_asked_again_after_its_wait(make: Callable[[OpenAIServer], Runner]) -> None:
    """Two requests, one of them told as a failed attempt; nothing of the half answer is left."""
    failing = Failing({name: [reply] for name, (reply, _) in MAY_PASS.items()})
    with OpenAIServer(failing) as server:
        async with make(server) as runner:
            results = await asyncio.gather(*(runner.run_react(AGENT, name) for name in MAY_PASS))
            details = {
                name: await detail_of(runner, result.session_id)
                for name, result in zip(MAY_PASS, results, strict=True)
            }
    for (name, (_, kind)), result in zip(MAY_PASS.items(), results, strict=True):
        detail = details[name]
        assert (name, result.status, result.data) == (name, SessionStatus.COMPLETED, "Done.")
        assert (name, failing.asked[name]) == (name, 2)
        retries = told(detail, EventType.TURN_RETRIED)
        assert [(name, e.data["error_type"], e.data["retries"]) for e in retries] == [(name, kind, 1)]
        retried = retries[0]
        first, second = told(detail, EventType.TURN_STARTED)
        waited_ms = int(str(retried.data["retry_at"])) - retried.at
        assert second.at >= retried.at + waited_ms
        assert waited_ms >= (1000 if "Retry-After" in name else 250)
        assert [entry.content for entry in detail.state.memory_entries] == [name, "Done."]
        assert (detail.tasks[0].attempt, detail.state.runtime_state.usage.model_turns) == (2, 1)
        assert first.data["turn"] == second.data["turn"]
    for request in server.requests:
        check_valid(request)


async def test_what_wont_pass_is_one_request_with_a_remedy_and_a_retry_takes_it_up(
    make: Callable[[OpenAIServer], Runner],
) -> None:
    failing = Failing({name: [reply] for name, (reply, _, _) in WONT_PASS.items()})
    with OpenAIServer(failing) as server:
        async with make(server) as runner:
            results = await asyncio.gather(*(runner.run_react(AGENT, name) for name in WONT_PASS))
            for (name, (_, kind, remedy)), result in zip(WONT_PASS.items(), results, strict=True):
                detail = await detail_of(runner, result.session_id)
                assert (name, result.status, failing.asked[name]) == (name, SessionStatus.FAILED, 1)
                assert result.error is not None
                assert result.error.error_type == kind
                assert remedy in result.error.message
                assert told(detail, EventType.TURN_RETRIED) == []
                assert remedy in page_of(detail, runner.ports.clock.now_ms())
            again = await asyncio.gather(*(runner.resume(result.session_id) for result in results))
    assert [result.data for result in again] == ["Done."] * len(WONT_PASS)
    assert failing.asked == dict.fromkeys(WONT_PASS, 2)


async def test_an_odd_answer_is_an_answer_and_the_next_request_is_valid(
    make: Callable[[OpenAIServer], Runner],
) -> None:
    failing = Failing({name: [reply] for name, reply in ODD.items()})
    with OpenAIServer(failing) as server:
        async with make(server) as runner:
            results = await asyncio.gather(*(runner.run_react(AGENT, name) for name in ODD))
            details = {n: await detail_of(runner, r.session_id) for n, r in zip(ODD, results, strict=True)}
    assert [(result.status, result.data) for result in results] == [(SessionStatus.COMPLETED, "Done.")] * len(ODD)
    assert failing.asked == dict.fromkeys(ODD, 2)
    for request in server.requests:
        check_valid(request)
    heard = {n: [e.content for e in d.state.memory_entries if e.tool_call_id] for n, d in details.items()}
    for name in ("repeated ids", "empty ids", "all of index 0"):
        assert heard[name] == ["echo a", "echo b"], name
    assert all("JSON" in one or "object" in one for one in heard["no JSON in arguments"]), heard
    assert "no such" in heard["unknown tool"][0]
    assert details["no usage"].state.runtime_state.usage.estimated
    assert not details["unknown tool"].state.runtime_state.usage.estimated


async def test_a_wait_is_a_row_that_says_how_often_why_and_until_when(
    make: Callable[[OpenAIServer], Runner],
) -> None:
    """The server names an hour, as a date: no thread and no claim waits, and what is shown says all of it."""
    at = datetime.now(UTC) + timedelta(hours=1)
    later = status(429, "quota per hour", retry_after=format_datetime(at, usegmt=True))
    failing = Failing({"Hi": [status(500, "oops"), later]})
    with OpenAIServer(failing) as server:
        async with make(server) as runner:
            run = asyncio.create_task(runner.run_react(AGENT, "Hi"))
            await asyncio.to_thread(server.wait_for_requests, 2)
            detail = await _waiting(runner, retries=2)
            await runner.stop()
            assert (await run).status is SessionStatus.RUNNING
            now = runner.ports.clock.now_ms()
    (task,) = detail.tasks
    assert (task.attempt, task.retries, task.lease_owner) == (2, 2, None)
    assert 3_500_000 < task.not_before - now <= 3_960_000
    contract = session_contract(detail)
    assert contract["tasks"] == [
        {"key": "turn:1", "status": "ready", "attempt": 2, "fence": task.fence, "not_before": task.not_before}
    ]
    assert "2 failures so far; the last: rate limited: " in page_of(detail, now)
    assert "quota per hour" in page_of(detail, now)
    assert len(server.requests) == 2


async def test_what_does_not_pass_in_eight_retries_fails_after_nine_requests(
    make: Callable[[OpenAIServer], Runner],
) -> None:
    """No layer beneath asks again: the store's count is the server's."""
    failing = Failing({"Hi": [status(500, "oops", retry_after="0")] * 9})
    with OpenAIServer(failing) as server:
        async with make(server) as runner:
            result = await runner.run_react(AGENT, "Hi")
            detail = await detail_of(runner, result.session_id)
            again = await runner.resume(result.session_id)
    assert result.error is not None
    assert (result.error.error_type, failing.asked["Hi"]) == ("server_error", 10)
    assert "after 9 attempts" in result.error.message
    assert [event.data["retries"] for event in told(detail, EventType.TURN_RETRIED)] == list(range(1, 9))
    assert detail.tasks[0].attempt == 9
    assert again.data == "Done."


async def _waiting(runner: Runner, *, retries: int) -> SessionDetail:
    async with asyncio.timeout(20):
        while True:
            for line in await runner.list_sessions():
                detail = await detail_of(runner, line.index.session_id)
                if any(task.retries == retries and task.lease_owner is None for task in detail.tasks):
                    return detail
            await asyncio.sleep(0.02)
