"""What is shown when the play is over: a table, the timelines in short, the checks, and how to go on. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from nonoka.entrypoints.cli.demo.checks import Check
from nonoka.entrypoints.cli.demo.outcome import Act, Outcome
from nonoka.entrypoints.cli.demo.stage import Piece
from nonoka.entrypoints.cli.demo.telling import SHORT, Line
from nonoka.entrypoints.cli.summary import STATUS_STYLE
from nonoka.records.event import Event, EventType

_HEADERS = ("session", "id", "status", "turns", "calls", "attempts", "recovered in")
_WIDTHS = (9, SHORT + 2, 11, 7, 7, 10, 0)


def table(outcome: Outcome) -> Iterator[Line]:
    """A line a session: ``attempts`` is how often its calls began."""
    yield ((_row(_HEADERS), "dim"),)
    for act in outcome.acts:
        state, calls = act.detail.state, act.calls
        recovered = act.recovered_after(outcome.cut)
        row = (
            "",
            act.detail.index.session_id[:SHORT],
            state.status.value,
            str(state.turn_count),
            str(len(calls)),
            str(sum(call.begun for call in calls)),
            "–" if recovered is None else f"{recovered} ms",
        )
        good = STATUS_STYLE.get(state.status, "")
        yield (_name(act), (_row(row)[_WIDTHS[0] :], good))


def timelines(outcome: Outcome) -> Iterator[Line]:
    """A line a session: its calls as they began."""
    for act in outcome.acts:
        steps = [step for event in act.detail.events if (step := _step(event)) is not None]
        pieces: list[Piece] = [_name(act)]
        for place, step in enumerate(steps):
            pieces += [(" ─ ", "dim"), step] if place else [step]
        yield tuple(pieces)
    legend = "✂ the kill   ↶ files rolled back to the call's snapshot   ↻ the same call again, under the same key"
    yield ((" " * _WIDTHS[0] + legend, "dim"),)


def verdict(checks: Iterable[Check]) -> Iterator[Line]:
    """A tick for each that holds, a cross and what speaks against it for the others."""
    for check in checks:
        yield (("  ✓ ", "good"), (check.holds, "")) if check.ok else (("  ✗ ", "bad"), (check.holds, "bad"))
        for fault in check.faults:
            yield ((f"    {fault}", "bad"),)


def how_to_go_on(directory: Path, program: str, session_id: str | None) -> Iterator[Line]:
    """Where it all is, and what to try next; ``session_id`` is one to look at where the directory is kept."""
    if session_id is not None:
        yield ("Kept: ", "strong"), (f"{directory}. Look around, then remove it:", "")
        yield ((f"  cd {shlex.quote(str(directory))}", ""),)
        yield ((f"  {program} sessions show {session_id[:SHORT]}", ""),)
        return
    yield (("Next:", "strong"), (f" ({directory} is removed)", "dim"))
    for arguments, why in (
        ("demo --keep", "keeps it: look at the sessions, the store and the log"),
        ('run --model openai:gpt-4o-mini "What is in this directory?"', "with OPENAI_API_KEY set"),
    ):
        yield (f"  {program} {arguments}", ""), (f"   {why}", "dim")


def _step(event: Event) -> Piece | None:
    match event.type:
        case EventType.CALL_STARTED:
            again = event.data["attempt"] != 1
            return (f"{'↻ ' if again else ''}{event.data['tool']}", "warn" if again else "")
        case EventType.TURN_RELEASED:
            return ("✂", "bad")
        case EventType.CALL_SETTLED if event.data.get("rolled_back"):
            return (f"↶ {event.data['rolled_back']}", "warn")
        case EventType.SESSION_COMPLETED:
            return ("answer", "good")
        case _:
            return None


def _name(act: Act) -> Piece:
    return (f"{act.part.name:<{_WIDTHS[0]}}", act.part.name)


def _row(cells: Iterable[str]) -> str:
    return "".join(f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
