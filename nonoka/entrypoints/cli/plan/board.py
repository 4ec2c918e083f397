"""A plan that is being run, as a picture of its layers that is kept up to date: what its events come to. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nonoka.decisions.plan_graph import finally_graph_of, graph_of
from nonoka.entrypoints.cli.figures import counted, fitted, printable, seconds, shortened, width
from nonoka.entrypoints.cli.screen import Span, Style
from nonoka.entrypoints.cli.step_lines import why_skipped
from nonoka.records.event import Event, EventType
from nonoka.records.plan import Plan
from nonoka.records.session import StepStatus
from nonoka.records.step_run import WHOLE, StepRun

_LOOKS: dict[StepStatus, tuple[str, Style]] = {
    StepStatus.PENDING: ("·", "dim"),
    StepStatus.RUNNING: ("●", "warn"),
    StepStatus.COMPLETED: ("✓", "good"),
    StepStatus.FAILED: ("✗", "bad"),
    StepStatus.CANCELLED: ("✗", "bad"),
    StepStatus.SKIPPED: ("–", "dim"),
}
#: What is told of a step behind its name, at most.
TOLD = 60


@dataclass(slots=True)
class _Standing:
    """Where one step stands, as far as its events say."""

    status: StepStatus = StepStatus.PENDING
    since: int = 0
    took: int | None = None
    attempt: int = 0
    items: int | None = None
    items_over: int = 0
    told: str = ""


class PlanBoard:
    """Knows from the events where each step stands."""

    def __init__(self, plan: Plan, runs: Iterable[StepRun] = ()) -> None:
        main, last = graph_of(plan).layers(), finally_graph_of(plan).layers()
        self._layers = [*main, *last]
        self._steps = {step: _Standing() for layer in self._layers for step in layer}
        self._name = plan.name
        self._over = False
        for run in runs:
            self._know(run)

    def told(self, event: Event) -> None:
        """This has happened as well."""
        standing = self._steps.get(str(event.data.get("step")))
        if event.type is EventType.SESSION_RESUMED:
            self._over = False
        if event.type in (EventType.SESSION_PAUSED, EventType.SESSION_CANCELLED, EventType.PLAN_FINISHED):
            self._over = True
        if standing is not None:
            _apply(standing, event)

    def lines(self, now: int, *, columns: int, most: int) -> list[list[Span]]:
        """The layers in at most so many lines; where there are more steps than that, what goes on now."""
        shown = self._layers
        if sum(map(len, shown)) + 1 > most:
            busy = [step for step, standing in self._steps.items() if standing.status is StepStatus.RUNNING]
            shown = [(step,) for step in busy[: max(0, most - 1)]]
        lines = [self._head()]
        wide = max((width(step) for layer in shown for step in layer), default=0)
        for layer in shown:
            for place, step in enumerate(layer):
                lines.append(self._line(step, _edge(place, len(layer)), wide, now, columns))
        return lines

    def _head(self) -> list[Span]:
        over = sum(standing.status in _OVER for standing in self._steps.values())
        return [
            Span(printable(self._name), "strong"),
            Span(f"  {over} of {counted(len(self._steps), 'step')}", "dim"),
        ]

    def _line(self, step: str, edge: str, wide: int, now: int, columns: int) -> list[Span]:
        standing = self._steps[step]
        mark, style = _LOOKS[standing.status]
        text = f"{step}{' ' * (wide - width(step))}  {_told(standing, now, running=not self._over)}".rstrip()
        return [Span(f" {edge} ", "dim"), Span(f"{mark} ", style), Span(fitted(text, max(8, columns - 8)))]

    def _know(self, run: StepRun) -> None:
        standing = self._steps.get(run.step)
        if standing is None:
            return
        if run.item != WHOLE:
            standing.items_over += run.over
            return
        standing.status, standing.attempt, standing.items = run.status, run.attempt, run.items
        standing.since = run.started_at or 0
        standing.took = None if run.ended_at is None or not standing.since else run.ended_at - standing.since


_OVER = (StepStatus.COMPLETED, StepStatus.FAILED, StepStatus.SKIPPED, StepStatus.CANCELLED)


def _apply(standing: _Standing, event: Event) -> None:
    item = event.data.get("item") is not None
    match event.type:
        case EventType.STEP_STARTED if not item:
            if standing.status is not StepStatus.RUNNING:
                standing.since, standing.took, standing.items_over = event.at, None, 0
            standing.status, standing.told = StepStatus.RUNNING, ""
            standing.attempt = _number(event, "attempt")
            items = event.data.get("items")
            standing.items = items if isinstance(items, int) else None
        case EventType.STEP_FINISHED if item:
            standing.items_over += 1
        case EventType.STEP_FINISHED:
            ok = event.data.get("ok") is True
            standing.status = StepStatus.COMPLETED if ok else StepStatus.FAILED
            standing.took = _number(event, "duration_ms")
            standing.told = "" if ok else f"{event.data.get('error_type')}: {event.data.get('summary')}"
        case EventType.STEP_RETRIED if not item:
            standing.told = f"failed, waits: {event.data.get('error_type')}"
        case EventType.STEP_RELEASED if not item:
            standing.told = "waits for a worker"
        case EventType.STEP_SKIPPED:
            standing.status, standing.told = StepStatus.SKIPPED, why_skipped(str(event.data.get("reason")))


def _told(standing: _Standing, now: int, *, running: bool) -> str:
    parts = []
    if standing.status is StepStatus.RUNNING and running:
        parts.append(seconds(now - standing.since))
    elif standing.took is not None:
        parts.append(seconds(standing.took))
    if standing.items is not None:
        parts.append(f"{standing.items_over} of {counted(standing.items, 'item')}")
    if standing.attempt > 1:
        parts.append(f"attempt {standing.attempt}")
    if standing.told:
        parts.append(shortened(printable(standing.told), TOLD))
    return "  ".join(parts)


def _edge(place: int, size: int) -> str:
    if size == 1:
        return "──"
    return "┬─" if not place else "└─" if place == size - 1 else "├─"


def _number(event: Event, key: str) -> int:
    value = event.data.get(key)
    return value if isinstance(value, int) else 0
