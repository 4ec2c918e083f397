"""A session's events as lines for people. Pure: events in, spans of text out; run, watch and show use it."""

from __future__ import annotations

import json
from collections.abc import Callable

from pydantic import JsonValue

from nonoka.entrypoints.cli.figures import counted, printable, seconds, shortened
from nonoka.entrypoints.cli.screen import Span, Style
from nonoka.entrypoints.cli.step_lines import step_line
from nonoka.records.event import Event, EventType

ARGUMENTS = 80
SUMMARY = 100

STEP_EVENTS = (
    EventType.STEP_STARTED,
    EventType.STEP_FINISHED,
    EventType.STEP_RETRIED,
    EventType.STEP_RELEASED,
    EventType.STEP_SETTLED,
    EventType.STEP_SKIPPED,
    EventType.PLAN_CHANGED,
    EventType.PLAN_FINISHED,
)


class Timeline:
    """Remembers what it has shown of a text or a call, so that the next event only adds what is missing.

    With ``verbose`` it also tells where turns begin and end.
    """

    def __init__(self, *, verbose: bool = False) -> None:
        self._verbose = verbose
        self._streamed = ""
        self._mid_line = False
        self._open_call: str | None = None
        self._arguments: dict[str, JsonValue] = {}
        #: the calls of the turn that have not ended; a line is begun early only for the last of them
        self._unfinished: set[str] = set()
        self._tell: dict[EventType, Callable[[Event], list[Span]]] = {
            EventType.SESSION_CREATED: self._created,
            EventType.PROMPT_ACCEPTED: self._accepted,
            EventType.TURN_STARTED: self._started,
            EventType.TEXT_STREAMED: self._streaming,
            EventType.MODEL_ANSWERED: self._answered,
            EventType.CALL_STARTED: self._call_started,
            EventType.CALL_FINISHED: self._call_finished,
            EventType.CALL_OVERDUE: self._call_overdue,
            EventType.CALL_SETTLED: self._call_settled,
            EventType.CALL_ASKED: self._asked,
            EventType.CALL_DECIDED: lambda event: self._line(
                f"decided by a person: {_text(event, 'tool_call_id')}: {_text(event, 'decision')}", "strong"
            ),
            EventType.TASK_WAITING: self._waiting,
            EventType.TURN_RETRIED: self._retried,
            EventType.TURN_RELEASED: self._released,
            EventType.TURN_FINISHED: self._finished,
            **dict.fromkeys(STEP_EVENTS, self._step),
            EventType.SESSION_RESUMED: lambda event: self._line("resumed", "strong"),
            EventType.SESSION_PAUSED: lambda event: self._line("paused", "warn"),
            EventType.SESSION_COMPLETED: self._completed,
            EventType.SESSION_FAILED: self._failed,
            EventType.SESSION_CANCELLED: lambda event: self._line("cancelled", "bad"),
            EventType.SESSION_ROLLED_BACK: self._rolled_back,
            EventType.ROLLBACK_REFUSED: lambda event: self._line(
                f"not rolled back: {_text(event, 'why')}", "warn"
            ),
            EventType.SESSION_FORKED: lambda event: self._line(
                f"forked from {_text(event, 'from')} at the end of turn {_number(event, 'turn')}", "dim"
            ),
            EventType.SESSION_REPAIRED: lambda event: self._line(f"repaired: {_text(event, 'why')}", "warn"),
        }

    def told(self, event: Event) -> list[Span]:
        """What this event adds to what was shown before."""
        return self._tell[event.type](event)

    @property
    def mid_line(self) -> bool:
        """What was shown last has not ended its line."""
        return self._mid_line

    def ended(self) -> list[Span]:
        """Whatever is shown next begins on a line of its own."""
        self._open_call = None
        if not self._mid_line:
            return []
        self._mid_line = False
        return [Span("\n")]

    def _line(self, text: str, style: Style = "") -> list[Span]:
        return [*self.ended(), Span(printable(text), style), Span("\n")]

    def _waiting(self, event: Event) -> list[Span]:
        task, holder = _text(event, "task"), _text(event, "holder")
        # That the steps of a plan change their workspace in turn is nothing to be told.
        if holder.startswith(f"{event.session_id}/") and not self._verbose:
            return []
        return self._line(f"{task} waits: {holder} is changing its workspace", "warn")

    def _step(self, event: Event) -> list[Span]:
        line = step_line(event, verbose=self._verbose)
        return [*self.ended(), *line] if line else []

    # --- the session and its turns

    def _created(self, event: Event) -> list[Span]:
        agent, model = _text(event, "agent"), _text(event, "model")
        if event.data.get("plan") is not None:
            return self._line(f"created: plan {_text(event, 'plan')} in {_text(event, 'working_dir')}", "dim")
        return self._line(f"created: agent {agent} on {model} in {_text(event, 'working_dir')}", "dim")

    def _accepted(self, event: Event) -> list[Span]:
        first = _number(event, "position") == 0
        if first and not self._verbose:
            return []
        return self._line("prompt accepted" if first else "next prompt", "dim")

    def _started(self, event: Event) -> list[Span]:
        withdrawn = self._withdraw()
        if not self._verbose:
            return withdrawn
        return [
            *withdrawn,
            *self._line(f"turn {_number(event, 'turn')}, attempt {_number(event, 'attempt')}", "dim"),
        ]

    def _finished(self, event: Event) -> list[Span]:
        return self._line(f"turn {_number(event, 'turn')} finished", "dim") if self._verbose else []

    def _retried(self, event: Event) -> list[Span]:
        wait = seconds(_number(event, "retry_at") - event.at)
        return [*self._withdraw(), *self._line(f"waiting {wait}: {_failure(event)}", "warn")]

    def _released(self, event: Event) -> list[Span]:
        turn, deaths = _number(event, "turn"), _number(event, "deaths")
        if _text(event, "why") == "handed_back":
            text = f"turn {turn} handed back: whoever takes it goes on from here"
        elif _text(event, "why").startswith("agent_unloadable"):
            text = f"turn {turn} waits: {printable(_text(event, 'why'))}"
        else:
            text = f"recovered: turn {turn} lost its worker ({counted(deaths, 'time')}); it is taken up again"
        return [*self._withdraw(), *self._line(text, "warn")]

    def _completed(self, event: Event) -> list[Span]:
        why = _text(event, "not_committed")
        return self._line(f"its work is not committed: {printable(why)}", "bad") if why else []

    def _failed(self, event: Event) -> list[Span]:
        return self._line(f"failed: {_failure(event)}", "bad")

    # --- what the model says

    def _streaming(self, event: Event) -> list[Span]:
        text = printable(_text(event, "text"))
        before = [] if self._streamed else self.ended()
        self._streamed += text
        self._mid_line = not self._streamed.endswith("\n")
        return [*before, Span(text)]

    def _answered(self, event: Event) -> list[Span]:
        calls = event.data.get("calls")
        asked = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        self._arguments = {str(call.get("id")): call.get("args") for call in asked}
        self._unfinished = set(self._arguments)
        text, shown = printable(_text(event, "text")), self._streamed
        if text.startswith(shown):
            before = [] if shown else self.ended()
            missing = text[len(shown) :]
        else:
            before, missing = self._withdraw(), text
        self._streamed = ""
        self._mid_line = bool(text) and not text.endswith("\n")
        return [*before, *([Span(missing)] if missing else []), *self.ended()]

    def _withdraw(self) -> list[Span]:
        if not self._streamed:
            return []
        self._streamed = ""
        return self._line("(the text above is withdrawn: that attempt did not get through)", "dim")

    # --- what it asks for

    def _call_started(self, event: Event) -> list[Span]:
        call_id = _text(event, "tool_call_id")
        self._arguments[call_id] = event.data.get("args")
        if self._unfinished - {call_id}:
            return []
        before = self.ended()
        attempt = _number(event, "attempt")
        again = f" (attempt {attempt})" if attempt > 1 else ""
        self._open_call, self._mid_line = call_id, True
        return [*before, Span(self._call(event) + again, "strong")]

    def _call_finished(self, event: Event) -> list[Span]:
        ok = event.data.get("ok") is True
        outcome = Span("ok", "good") if ok else Span("failed", "bad")
        if self._open_call == _text(event, "tool_call_id"):
            head = [Span(" ")]
        else:
            head = [*self.ended(), Span(self._call(event), "strong"), Span(" ")]
        self._open_call, self._mid_line = None, False
        self._unfinished.discard(_text(event, "tool_call_id"))
        summary = shortened(printable(_text(event, "summary")), SUMMARY)
        rest = f" {seconds(_number(event, 'duration_ms'))}" + (f": {summary}" if summary else "")
        return [*head, outcome, Span(rest + "\n", "dim")]

    def _call_overdue(self, event: Event) -> list[Span]:
        return self._line(f"overdue: {self._call(event)} does not stop; its worker process ends for it", "warn")

    def _call_settled(self, event: Event) -> list[Span]:
        outcome = {
            "replay": "it runs again",
            "tell": "it is not run again, the model is told",
            "fail": "it must not run again",
            "probe": "its tool looks whether it happened",
            "ask": "somebody has to say whether it happened",
            "ended": "it is over",
        }.get(_text(event, "outcome"), _text(event, "outcome"))
        return self._line(f"settled: {self._call(event)} was interrupted{_workspace(event)}; {outcome}", "warn")

    def _asked(self, event: Event) -> list[Span]:
        return self._line(f"did {self._call(event)} happen? nonoka sessions answer", "warn")

    def _rolled_back(self, event: Event) -> list[Span]:
        files = event.data.get("files")
        how_many = counted(len(files), "file") if isinstance(files, list) else "no file"
        return self._line(f"rolled back to the end of turn {_number(event, 'to')} ({how_many})", "strong")

    def _call(self, event: Event) -> str:
        return called(_text(event, "tool"), self._arguments.get(_text(event, "tool_call_id")))


def _workspace(event: Event) -> str:
    if "not_rolled_back" in event.data:
        return f"; nothing was rolled back, for {_text(event, 'not_rolled_back')}"
    if "rolled_back" not in event.data:
        return ""
    kept = event.data.get("kept")
    left = f", {counted(len(kept), 'file')} left as they are" if isinstance(kept, list) else ""
    return f", {counted(_number(event, 'rolled_back'), 'file')} rolled back{left}"


def called(tool: str, arguments: JsonValue) -> str:
    """A call as it would be written, in one line."""
    if isinstance(arguments, dict):
        inside = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    else:
        inside = "" if arguments is None else str(arguments)
    return printable(f"{shortened(tool, ARGUMENTS)}({shortened(inside, ARGUMENTS)})")


def _failure(event: Event) -> str:
    return f"{_text(event, 'error_type').replace('_', ' ')}: {_text(event, 'message')}"


def _text(event: Event, key: str) -> str:
    value = event.data.get(key)
    return "" if value is None else str(value)


def _number(event: Event, key: str) -> int:
    value = event.data.get(key)
    return value if isinstance(value, int) else 0
