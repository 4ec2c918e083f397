"""Which decision a task's claim, release or failure comes to: that of a turn, a plan's turn, or a step."""

from __future__ import annotations

from collections.abc import Mapping

from nonoka.decisions import overdue, plan_conduct, recovery, step, step_recovery, turn
from nonoka.decisions.draft import Draft
from nonoka.decisions.recovery import Settled
from nonoka.decisions.turn import Failure
from nonoka.records.tool import ProcessGroup


def begin(draft: Draft) -> None:
    """The claim's own commit."""
    if draft.view.task.kind == "step":
        step.begin(draft)
    elif draft.plan is not None:
        plan_conduct.begin(draft)
    else:
        turn.begin(draft)


def release_lost(draft: Draft, settled: Settled) -> None:
    """The worker died or froze."""
    if draft.view.task.kind == "step":
        step_recovery.release_lost(draft, settled)
    else:
        recovery.release_lost(draft, settled)


def hand_back(draft: Draft, settled: Settled, why: str = "handed_back") -> None:
    """The worker stops before the task is done."""
    if draft.view.task.kind == "step":
        step_recovery.hand_back(draft, settled, why)
    else:
        recovery.hand_back(draft, settled, why)


def settle_and_retry(draft: Draft, failure: Failure, lot: float, settled: Settled) -> None:
    """The attempt failed on this side."""
    if draft.view.task.kind == "step":
        step_recovery.settle_and_retry(draft, failure, lot, settled)
    else:
        recovery.settle_and_retry(draft, failure, lot, settled)


def note_end(draft: Draft, ends: Mapping[int, int]) -> None:
    """When the begun calls were over at the latest is on record."""
    if draft.view.task.kind == "step":
        step_recovery.note_end(draft, ends[0])
    else:
        recovery.note_end(draft, ends)


def note_undone(draft: Draft, place: int, snapshot_id: str) -> None:
    """What the rollback of a begun call is about to replace is on record."""
    if draft.view.task.kind == "step":
        step_recovery.note_undone(draft, snapshot_id)
    else:
        recovery.note_undone(draft, place, snapshot_id)


def note_stuck(draft: Draft, place: int) -> None:
    """When the rollback of a begun call failed first is on record."""
    if draft.view.task.kind == "step":
        step_recovery.note_stuck(draft)
    else:
        recovery.note_stuck(draft, place)


def note_overdue(draft: Draft, place: int, limit_s: float) -> None:
    """A begun call's time is over, and its worker is about to end for it."""
    if draft.view.task.kind == "step":
        step.note_overdue(draft, limit_s)
    else:
        overdue.note_overdue(draft, place, limit_s)


def record_process(draft: Draft, place: int, group: ProcessGroup) -> None:
    """A begun call has started this process group, which is still held."""
    if draft.view.task.kind == "step":
        step.record_process(draft, group)
    else:
        turn.record_process(draft, place, group)
