"""Step updates, merged in the store's own order into what holds now.

Three rules: a terminal status is not overwritten by a non-terminal one of the same attempt; a result clears
an earlier failure; a failure clears an earlier result.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from nonoka.records.base import Record
from nonoka.records.session import StepFailure, StepResult, StepStatus
from nonoka.records.step_run import WHOLE, StepRun
from nonoka.records.step_update import StepUpdate

_TERMINAL = frozenset({StepStatus.COMPLETED, StepStatus.FAILED, StepStatus.CANCELLED, StepStatus.SKIPPED})


class MergedSteps(Record):
    """The three step maps of a SessionState."""

    step_statuses: dict[str, StepStatus]
    completed_steps: dict[str, StepResult]
    failed_steps: dict[str, StepFailure]


def merge_steps(updates: Iterable[StepUpdate]) -> MergedSteps:
    """What the updates come to; they may be given in any order, ``seq`` decides."""
    statuses: dict[str, tuple[int, StepStatus]] = {}
    results: dict[str, StepResult] = {}
    failures: dict[str, StepFailure] = {}
    for update in sorted(updates, key=lambda u: u.seq):
        step, payload = update.step_id, update.payload
        attempt = payload.get("attempt", 1)
        attempt = attempt if isinstance(attempt, int) else 1
        if update.update_type == "status":
            status = StepStatus(str(payload["state"]))
            known = statuses.get(step)
            if known and known[0] == attempt and known[1] in _TERMINAL and status not in _TERMINAL:
                continue
            statuses[step] = (attempt, status)
        elif update.update_type == "result":
            failures.pop(step, None)
            results[step] = StepResult(step_id=step, attempt=attempt, payload=payload)
            statuses[step] = (attempt, StepStatus.COMPLETED)
        else:
            results.pop(step, None)
            failures[step] = StepFailure(
                error_type=str(payload.get("error_type", "error")),
                message=str(payload.get("message", "")),
                traceback=str(payload.get("traceback", "")),
            )
            statuses[step] = (attempt, StepStatus.FAILED)
    return MergedSteps(
        step_statuses={step: status for step, (_, status) in statuses.items()},
        completed_steps=results,
        failed_steps=failures,
    )


def current_runs(runs: Iterable[StepRun]) -> list[StepRun]:
    """The rows without those of items that their step had when it ran before, and has no more."""
    found = list(runs)
    items = {(run.plan, run.step): run.items or 0 for run in found if run.item == WHOLE}
    return [run for run in found if run.item < items[run.plan, run.step]]


def merged_runs(runs: Iterable[tuple[StepRun, JsonValue]]) -> MergedSteps:
    """The same maps from the rows of plans' steps, each with what it brought."""
    given = list(runs)
    places = {(run.plan, run.step, run.item) for run in current_runs(run for run, _ in given)}
    found = [(run, value) for run, value in given if (run.plan, run.step, run.item) in places]
    return MergedSteps(
        step_statuses={run.step_id: run.status for run, _ in found},
        completed_steps={
            run.step_id: StepResult(step_id=run.step_id, attempt=run.attempt, payload={"result": value})
            for run, value in found
            if run.status is StepStatus.COMPLETED
        },
        failed_steps={
            run.step_id: StepFailure(
                error_type=run.error_type or "failed", message=run.message or "", traceback=run.traceback
            )
            for run, _ in found
            if run.status is StepStatus.FAILED
        },
    )
