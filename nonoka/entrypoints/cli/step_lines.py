"""The events of a plan's steps as lines for people. Pure; the timeline shows them."""

from __future__ import annotations

import json

from nonoka.entrypoints.cli.figures import counted, printable, seconds, shortened
from nonoka.entrypoints.cli.screen import Span
from nonoka.records.event import Event, EventType

ARGUMENTS = 80
SUMMARY = 100
_SETTLED = {
    "replay": "it runs again",
    "probe": "its tool finds out whether it happened",
    "overdue": "its time was over, and its worker ended for it",
    "tell": "it is not run again",
    "ask": "it is not run again",
    "fail": "it must not run again",
}


def step_line(event: Event, *, verbose: bool) -> list[Span]:
    """What is shown of the event; of items only what failed, unless ``verbose``."""
    item = event.data.get("item") is not None
    match event.type:
        case EventType.STEP_STARTED:
            return _line(_started(event), "dim") if verbose or not item else []
        case EventType.STEP_FINISHED:
            return _finished(event) if verbose or not item or event.data.get("ok") is not True else []
        case EventType.STEP_RETRIED:
            wait = seconds(_number(event, "retry_at") - event.at)
            return _line(f"{named(event)} failed, again in {wait}: {_failure(event)}", "warn")
        case EventType.STEP_RELEASED:
            return _line(_released(event), "warn")
        case EventType.STEP_SETTLED:
            outcome = _text(event, "outcome")
            return _line(f"settled: {named(event)} was interrupted; {_SETTLED.get(outcome, outcome)}", "warn")
        case EventType.STEP_SKIPPED:
            return _line(f"{named(event)} skipped: {why_skipped(_text(event, 'reason'))}", "dim")
        case EventType.PLAN_CHANGED:
            return _line(f"the plan has changed: {_text(event, 'told')}", "warn")
        case _:
            return []


_REASONS = {"when": "its condition does not hold", "plan_failed": "the plan failed"}


def why_skipped(reason: str) -> str:
    """The reason in words."""
    return _REASONS.get(reason, reason)


def named(event: Event) -> str:
    """The step, or the item of it, that an event is about."""
    item = event.data.get("item")
    return _text(event, "step") if item is None else f"{_text(event, 'step')}[{item}]"


def _started(event: Event) -> str:
    attempt = _number(event, "attempt")
    again = f" (attempt {attempt})" if attempt > 1 else ""
    if event.data.get("items") is not None:
        return f"{named(event)}: {counted(_number(event, 'items'), 'item')}{again}"
    args = event.data.get("args")
    shown = json.dumps(args, ensure_ascii=False) if args else ""
    return f"{named(event)}: {_text(event, 'tool')} {shortened(shown, ARGUMENTS)}".rstrip(" :") + again


def _finished(event: Event) -> list[Span]:
    ok = event.data.get("ok") is True
    summary = shortened(printable(_text(event, "summary")), SUMMARY)
    rest = f" {seconds(_number(event, 'duration_ms'))}" + (f": {summary}" if summary else "")
    outcome = Span("ok", "good") if ok else Span("failed", "bad")
    return [Span(printable(named(event)) + " ", "strong"), outcome, Span(rest + "\n", "dim")]


def _released(event: Event) -> str:
    if _text(event, "why") == "handed_back":
        return f"{named(event)} handed back: whoever takes it goes on from here"
    if _text(event, "why").startswith("agent_unloadable"):
        return f"{named(event)} waits: {_text(event, 'why')}"
    times = counted(_number(event, "deaths"), "time")
    return f"recovered: {named(event)} lost its worker ({times}); it is taken up again"


def _failure(event: Event) -> str:
    return f"{_text(event, 'error_type').replace('_', ' ')}: {shortened(_text(event, 'message'), SUMMARY)}"


def _line(text: str, style: str) -> list[Span]:
    return [Span(printable(text), "warn" if style == "warn" else "dim"), Span("\n")]


def _text(event: Event, key: str) -> str:
    value = event.data.get(key)
    return "" if value is None else str(value)


def _number(event: Event, key: str) -> int:
    value = event.data.get(key)
    return value if isinstance(value, int) else 0
