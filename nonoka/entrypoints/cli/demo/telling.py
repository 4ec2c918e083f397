"""The timelines of all three sessions as they happen, a line an event. Pure: an event in, a line out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nonoka.decisions.calls import idempotency_key
from nonoka.entrypoints.cli.demo.scenario import Part
from nonoka.entrypoints.cli.demo.stage import Piece
from nonoka.entrypoints.cli.figures import counted, seconds
from nonoka.entrypoints.cli.timeline import called
from nonoka.records.event import Event, EventType

Line = tuple[Piece, ...]
#: so much of a session's id is shown
SHORT = 8
#: a call that took less says nothing of its time
SOON_MS = 100


class Telling:
    """Tells when, of whom, on which worker, and what. ``letters`` may grow while it tells."""

    def __init__(self, parts: Mapping[str, Part], letters: Mapping[str, str], began_at: int) -> None:
        self._parts = parts
        self._letters = letters
        self._began_at = began_at
        self._holder: dict[str, str] = {}
        self._answers: dict[str, str] = {}
        self._args: dict[tuple[str, str], object] = {}

    def moment(self, at: int) -> Piece:
        """How long after the demo began."""
        return f"{(at - self._began_at) / 1000:6.2f} s  ", "dim"

    def lines(self, events: Sequence[Event]) -> Iterator[Line]:
        """A line for each that is told. A call that also ends among these takes only one."""
        ended = {_call_of(event) for event in events if event.type is EventType.CALL_FINISHED}
        for event in events:
            what = self._what(event)
            passing = event.type is EventType.CALL_STARTED and _call_of(event) in ended and not _again(event)
            if what is not None and not passing:
                part, holder = self._parts[event.session_id], self._holder.get(event.session_id, "")
                yield self.moment(event.at), (f"{part.name:<7}", part.name), (f"{holder:<3}", "dim"), *what

    def _what(self, event: Event) -> Line | None:
        match event.type:
            case EventType.PROMPT_ACCEPTED:
                return ((f"“{self._parts[event.session_id].prompt}”", ""),)
            case EventType.TURN_STARTED:
                return self._turn_started(event)
            case EventType.MODEL_ANSWERED:
                self._answers[event.session_id] = f" “{event.data['text']}”"
                return None
            case EventType.CALL_STARTED:
                return self._call_started(event)
            case EventType.CALL_FINISHED:
                return self._call_finished(event)
            case EventType.CALL_SETTLED:
                return ((_settled(event), "warn"),)
            case EventType.TURN_RELEASED:
                self._holder.pop(event.session_id, None)
                return ((f"recovered: turn {event.data['turn']} is taken from its dead worker", "warn"),)
            case EventType.TURN_RETRIED | EventType.SESSION_FAILED:
                return ((f"{event.data['error_type']}: {event.data['message']}", "bad"),)
            case EventType.SESSION_COMPLETED:
                return (("completed", "good"), (self._answers.get(event.session_id, ""), ""))
            case _:
                return None

    def _turn_started(self, event: Event) -> Line | None:
        letter = self._letters.get(str(event.data["worker"]), "?")
        self._holder[event.session_id] = letter
        if event.data["attempt"] == 1:
            return None
        return ((f"worker {letter} takes up turn {event.data['turn']}", "warn"),)

    def _call_started(self, event: Event) -> Line | None:
        self._args[_call_of(event)] = event.data["args"]
        call: Piece = (self._call(event), "strong")
        if _again(event):
            key = short_key(*_call_of(event))
            return call, (f" … again: attempt {event.data['attempt']}, the same key {key}", "warn")
        return (call, (" …", "dim")) if event.data["tool"] == "run_command" else None

    def _call_finished(self, event: Event) -> Line:
        ok: Piece = ("ok", "good") if event.data["ok"] else (f"failed: {event.data['summary']}", "bad")
        took = event.data["duration_ms"]
        rest = f" {seconds(took)}" if isinstance(took, int) and took >= SOON_MS else ""
        return (self._call(event), ""), (" ", ""), ok, (rest, "dim")

    def _call(self, event: Event) -> str:
        """The call as it is written; a command stands for itself, long texts are cut."""
        args = self._args.get(_call_of(event))
        if not isinstance(args, dict):
            return str(event.data["tool"])
        if "command" in args:
            return f"$ {args['command']}"
        short = {name: value for name, value in args.items() if name != "content"}
        return called(str(event.data["tool"]), short)


def _settled(event: Event) -> str:
    ended = f"settled: what {event.data['tool_call_id']} had started is ended"
    files = event.data.get("rolled_back")
    if not isinstance(files, int):
        return ended
    return f"{ended}; rolled back to its snapshot: {counted(files, 'file')}"


def _call_of(event: Event) -> tuple[str, str]:
    return event.session_id, str(event.data["tool_call_id"])


def _again(event: Event) -> bool:
    return event.data["attempt"] != 1


def short_key(session_id: str, call_id: str) -> str:
    """A call's idempotency key, as it is shown."""
    _, turn, place = call_id.split("_")
    return idempotency_key(f"{session_id[:SHORT]}…", int(turn), int(place))
