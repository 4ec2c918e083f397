"""What a person sees of the events."""

from __future__ import annotations

from pydantic import JsonValue

from nonoka.entrypoints.cli.timeline import Timeline
from nonoka.records.event import Event, EventType


def seen(*events: tuple[EventType, dict[str, JsonValue]], verbose: bool = False) -> str:
    timeline, shown = Timeline(verbose=verbose), ""
    for seq, (kind, data) in enumerate(events, start=1):
        event = Event(session_id="s", seq=seq, at=1_000, type=kind, data=data)
        shown += "".join(span.text for span in timeline.told(event))
    return shown + "".join(span.text for span in timeline.ended())


def streamed(text: str) -> tuple[EventType, dict[str, JsonValue]]:
    return EventType.TEXT_STREAMED, {"turn": 1, "attempt": 1, "text": text}


def answered(text: str, *calls: str) -> tuple[EventType, dict[str, JsonValue]]:
    asked: list[JsonValue] = [{"id": call, "name": call, "args": {"n": 1}} for call in calls]
    return EventType.MODEL_ANSWERED, {"text": text, "calls": asked}


def started(call: str, attempt: int = 1) -> tuple[EventType, dict[str, JsonValue]]:
    return EventType.CALL_STARTED, {"tool_call_id": call, "tool": call, "args": {"n": 1}, "attempt": attempt}


def finished(call: str, ok: bool = True, summary: str = "") -> tuple[EventType, dict[str, JsonValue]]:
    return EventType.CALL_FINISHED, {
        "tool_call_id": call,
        "tool": call,
        "ok": ok,
        "duration_ms": 1_234,
        "summary": summary,
    }


def test_an_answer_adds_only_what_was_not_streamed() -> None:
    assert seen(streamed("Hello"), streamed(" the"), answered("Hello there.")) == "Hello there.\n"


def test_an_answer_that_was_not_streamed_is_shown_whole() -> None:
    assert seen(answered("Hello.\n")) == "Hello.\n"


def test_a_failed_attempt_withdraws_what_it_streamed() -> None:
    waiting: dict[str, JsonValue] = {"error_type": "rate_limited", "message": "slow down", "retry_at": 3_100}
    shown = seen(streamed("Half an"), (EventType.TURN_RETRIED, waiting), answered("An answer."))
    first, withdrawn, waits, answer = shown.splitlines()
    assert first == "Half an"
    assert "withdrawn" in withdrawn
    assert waits == "waiting 2.1 s: rate limited: slow down"
    assert answer == "An answer."


def test_an_answer_that_differs_from_what_was_streamed_withdraws_it() -> None:
    first, withdrawn, answer = seen(streamed("Some"), answered("Other")).splitlines()
    assert (first, answer) == ("Some", "Other")
    assert "withdrawn" in withdrawn


def test_a_call_is_one_line_that_begins_when_it_does() -> None:
    assert seen(answered("", "look"), started("look")) == "look(n=1)\n"
    assert (
        seen(answered("", "look"), started("look"), finished("look", summary="a\nb"))
        == "look(n=1) ok 1.2 s: a b\n"
    )


def test_calls_side_by_side_take_a_line_each() -> None:
    shown = seen(
        answered("", "one", "two"), started("one"), started("two"), finished("two", ok=False), finished("one")
    )
    assert shown.splitlines() == ["two(n=1) failed 1.2 s", "one(n=1) ok 1.2 s"]


def test_a_call_that_is_interrupted_leaves_no_half_line() -> None:
    settled: dict[str, JsonValue] = {"tool_call_id": "look", "tool": "look", "outcome": "replay"}
    shown = seen(answered("", "look"), started("look"), (EventType.CALL_SETTLED, settled), started("look", 2))
    assert shown.splitlines() == [
        "look(n=1)",
        "settled: look(n=1) was interrupted; it runs again",
        "look(n=1) (attempt 2)",
    ]


def test_a_lost_worker_is_told_as_a_recovery() -> None:
    lost: dict[str, JsonValue] = {"turn": 3, "deaths": 1, "why": "worker_lost"}
    assert seen((EventType.TURN_RELEASED, lost)).startswith("recovered: turn 3 lost its worker (1 time)")


def test_turns_are_told_only_to_who_asks() -> None:
    begun = (EventType.TURN_STARTED, {"turn": 1, "attempt": 1})
    assert seen(begun) == ""
    assert seen(begun, verbose=True) == "turn 1, attempt 1\n"


def test_other_peoples_words_cannot_steer_the_terminal() -> None:
    shown = seen(answered("\x1b[2Jgone\x07", "look"), started("look"), finished("look", summary="\x1b]0;x\x07"))
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_every_event_type_can_be_told() -> None:
    for kind in EventType:
        shown = seen((kind, {}), verbose=True)
        assert shown == "" or shown.endswith("\n")
