"""A plan's steps as a page shows them: where each stands, its attempts, times and errors. Pure."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence

from nonoka.decisions.plan_graph import finally_graph_of, graph_of
from nonoka.entrypoints.cli.figures import counted, printable, seconds, shortened, width
from nonoka.entrypoints.cli.screen import Span, Style
from nonoka.entrypoints.cli.step_lines import why_skipped
from nonoka.records.plan import Plan
from nonoka.records.session import StepStatus
from nonoka.records.step_run import WHOLE, PlanDetail, StepRun

STATUS_STYLE: dict[StepStatus, Style] = {
    StepStatus.COMPLETED: "good",
    StepStatus.FAILED: "bad",
    StepStatus.CANCELLED: "bad",
    StepStatus.RUNNING: "warn",
    StepStatus.SKIPPED: "dim",
    StepStatus.PENDING: "dim",
}
#: An error, a reason or a value on the page, at most.
TOLD = 120
#: So many items of one step that failed are named.
ITEMS = 5


def plan_section(plan: PlanDetail, now: int) -> list[Span]:
    """The steps in the plan's order, the critical path, and the outputs."""
    wholes = [run for run in plan.runs if run.item == WHOLE]
    items: dict[str, list[StepRun]] = defaultdict(list)
    for run in plan.runs:
        if run.item != WHOLE:
            items[run.step].append(run)
    wide = max((width(run.step) for run in wholes), default=0)
    spans = [Span(f"plan {printable(plan.plan.name)}\n", "strong")]
    for run in wholes:
        spans += [*step_spans(run, items[run.step], now, wide), *_failed_items(items[run.step])]
    path = critical_path(plan.plan, wholes, now)
    if path:
        spans.append(Span(f"  critical path: {path}\n", "dim"))
    for name, value in (plan.outputs or {}).items():
        shown = shortened(printable(json.dumps(value, ensure_ascii=False)), TOLD)
        spans += [Span(f"  {name} = ", "dim"), Span(shown + "\n")]
    return spans


def step_spans(run: StepRun, items: Sequence[StepRun], now: int, wide: int) -> list[Span]:
    """A step in one line."""
    told = [f"{seconds(duration(run, now)):>8}" if run.started_at is not None else " " * 8]
    if run.attempt > 1:
        told.append(counted(run.attempt, "attempt"))
    if items:
        told.append(_items(items))
    if run.error_type is not None and run.status is not StepStatus.COMPLETED:
        told.append(f"{run.error_type}: {shortened(run.message or '', TOLD)}")
    if run.status is StepStatus.SKIPPED and run.reason is not None:
        told.append(why_skipped(run.reason))
    if run.child is not None:
        told.append(f"session {run.child}")
    return [
        Span(f"  {run.status.value:<10}", STATUS_STYLE[run.status]),
        Span(run.step + " " * (wide - width(run.step)), "strong"),
        Span(printable("  ".join(["", *told]).rstrip()) + "\n", "dim"),
    ]


def duration(run: StepRun, now: int) -> int:
    """How long the step took, or has taken so far, ms; waits between its attempts are counted."""
    return 0 if run.started_at is None else (run.ended_at or now) - run.started_at


def critical_path(plan: Plan, runs: Sequence[StepRun], now: int) -> str:
    """The chain of steps that the plan's time comes from, in words; empty where nothing took any."""
    took = {run.step: float(duration(run, now)) for run in runs}
    path = graph_of(plan).critical_path(took)
    if plan.finally_steps:
        path = (*path, *finally_graph_of(plan).critical_path(took))
    whole = sum(took[step] for step in path)
    return f"{' → '.join(path)} ({seconds(round(whole))})" if whole else ""


def _items(items: Sequence[StepRun]) -> str:
    counts = Counter(item.status.value for item in items)
    parts = ", ".join(f"{number} {status}" for status, number in counts.items())
    return f"{counted(len(items), 'item')}: {parts}"


def _failed_items(items: Sequence[StepRun]) -> list[Span]:
    failed = [item for item in items if item.status is StepStatus.FAILED]
    lines = [f"[{item.item}] {item.error_type}: {shortened(item.message or '', TOLD)}" for item in failed[:ITEMS]]
    if len(failed) > ITEMS:
        lines.append(f"and {len(failed) - ITEMS} more")
    return [Span(f"             {printable(line)}\n", "bad") for line in lines]
