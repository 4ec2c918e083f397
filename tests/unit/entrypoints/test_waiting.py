"""What a person who waits is told."""

from __future__ import annotations

import io
from typing import Any

import pytest

from nonoka.entrypoints.cli.figures import fitted
from nonoka.entrypoints.cli.status_line import StatusLine
from nonoka.entrypoints.cli.waiting import Waiting
from nonoka.records.commit import Standing
from nonoka.records.event import Event, EventType
from nonoka.records.session import SessionStatus
from nonoka.records.task import Task, TaskStatus

T = EventType


def waiting(*events: tuple[EventType, int, dict[str, Any]], ours: frozenset[str] | None = None) -> Waiting:
    told = Waiting(ours)
    for seq, (kind, at, data) in enumerate(events, start=1):
        told.told(Event(session_id="s", seq=seq, at=at, type=kind, data=data))
    return told


def standing(status: TaskStatus | None, *, owner: str | None = None, not_before: int = 0) -> Standing:
    if status is None:
        return Standing(status=SessionStatus.PAUSED)
    task = Task(
        task_id="s/turn:1",
        session_id="s",
        kind="turn",
        key="turn:1",
        status=status,
        lease_owner=owner,
        not_before=not_before,
    )
    return Standing(status=SessionStatus.RUNNING, live_tasks=(task,))


RUNNING = standing(TaskStatus.RUNNING, owner="w1")
STARTED = (T.TURN_STARTED, 1_000, {"turn": 1})
CALLED = (T.CALL_STARTED, 2_000, {"tool_call_id": "a", "tool": "look"})


def test_a_model_that_thinks_is_told_after_a_moment() -> None:
    told = waiting(STARTED)
    assert told.at(2_500, RUNNING) is None
    assert told.at(31_000, RUNNING) == "the model has been thinking for 30 s"


@pytest.mark.parametrize("kind", [T.TEXT_STREAMED, T.MODEL_ANSWERED, T.TURN_FINISHED, T.SESSION_COMPLETED])
def test_a_model_that_has_answered_does_not_think(kind: EventType) -> None:
    assert waiting(STARTED, (kind, 2_000, {})).at(60_000, RUNNING) is None


def test_calls_that_run_are_named_with_the_time_of_the_longest() -> None:
    told = waiting(STARTED, CALLED, (T.CALL_STARTED, 3_000, {"tool_call_id": "b", "tool": "fetch"}))
    assert told.at(202_000, RUNNING) == "fetch, look have been running for 3 min 20 s"
    told.told(Event(session_id="s", seq=9, at=203_000, type=T.CALL_FINISHED, data={"tool_call_id": "a"}))
    assert told.at(203_000, RUNNING) == "fetch has been running for 3 min 20 s"


def test_a_wait_for_the_model_s_server_counts_down_with_its_reason() -> None:
    told = waiting(STARTED, (T.TURN_RETRIED, 2_000, {"error_type": "rate_limited", "message": "slow down"}))
    ready = standing(TaskStatus.READY, not_before=14_000)
    assert told.at(2_000, ready) == "waiting 12 s for the model's server: rate limited: slow down"
    assert told.at(13_999, ready) == "waiting 1 s for the model's server: rate limited: slow down"


def test_a_session_that_nobody_takes_waits_for_a_worker() -> None:
    ready = standing(TaskStatus.READY, not_before=1_000)
    assert waiting().at(1_500, ready) is None
    assert waiting().at(61_000, ready) == "waiting for a worker for 1 min 0 s"


def test_another_worker_s_claim_is_told_only_to_a_worker() -> None:
    told = waiting(STARTED, ours=frozenset({"w2"}))
    assert told.at(1_000, RUNNING) == "another worker has this session"
    assert told.at(31_000, RUNNING) == "another worker has this session; the model has been thinking for 30 s"
    assert waiting(STARTED, ours=frozenset({"w1"})).at(1_000, RUNNING) is None


def test_a_session_at_rest_waits_for_nothing() -> None:
    assert waiting(STARTED).at(99_000, standing(None)) is None


def test_a_retry_is_forgotten_with_the_next_attempt() -> None:
    retried = (T.TURN_RETRIED, 2_000, {"error_type": "network", "message": "away"})
    told = waiting(STARTED, retried, (T.TURN_STARTED, 3_000, {}))
    assert told.at(4_000, standing(TaskStatus.READY, not_before=6_000)) == "waiting 2 s for its next attempt"


def test_a_status_line_is_one_line_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "12")
    out = io.StringIO()
    line = StatusLine(out)
    line.show("a\nvery \x1b[2J long one")
    line.show("short")
    line.show("short")
    line.clear()
    line.clear()
    assert out.getvalue() == "\ra very �[2…\x1b[K\rshort\x1b[K\r\x1b[K"


def test_wide_characters_take_two_columns() -> None:
    assert fitted("日本語", 6) == "日本語"
    assert fitted("日本語です", 6) == "日本…"
