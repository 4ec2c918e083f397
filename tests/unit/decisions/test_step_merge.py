"""The three rules by which step updates are merged."""

from __future__ import annotations

from nonoka.decisions.step_merge import merge_steps
from nonoka.records.session import StepFailure, StepStatus
from nonoka.records.step_update import StepUpdate, UpdateType


def row(seq: int, update_type: UpdateType, attempt: int = 1, **payload: str) -> StepUpdate:
    return StepUpdate(step_id="s", update_type=update_type, payload={"attempt": attempt, **payload}, seq=seq)


def running(seq: int, attempt: int = 1) -> StepUpdate:
    return row(seq, "status", attempt, state="running")


def test_a_status_in_doubt_reads_as_running() -> None:
    merged = merge_steps([running(1)])
    assert merged.step_statuses == {"s": StepStatus.RUNNING}
    assert merged.completed_steps == {}
    assert merged.failed_steps == {}


def test_a_terminal_status_is_not_overwritten_by_a_non_terminal_one_of_the_same_attempt() -> None:
    assert merge_steps([row(1, "result"), running(2)]).step_statuses == {"s": StepStatus.COMPLETED}
    assert merge_steps([row(1, "error"), running(2)]).step_statuses == {"s": StepStatus.FAILED}
    cancelled = row(1, "status", state="cancelled")
    assert merge_steps([cancelled, running(2)]).step_statuses == {"s": StepStatus.CANCELLED}


def test_a_new_attempt_leaves_the_terminal_status_of_the_one_before() -> None:
    """A step that runs again after a failure does not read as failed."""
    merged = merge_steps([row(1, "error", 1), running(2, attempt=2)])
    assert merged.step_statuses == {"s": StepStatus.RUNNING}


def test_a_result_clears_an_earlier_failure() -> None:
    merged = merge_steps([row(1, "error"), row(2, "result")])
    assert merged.completed_steps.keys() == {"s"}
    assert merged.failed_steps == {}
    assert merged.step_statuses == {"s": StepStatus.COMPLETED}


def test_a_failure_clears_an_earlier_result() -> None:
    """Also one that was saved within the same millisecond: only the counter decides."""
    merged = merge_steps([row(1, "result"), row(2, "error", error_type="boom", message="no", traceback="t")])
    assert merged.completed_steps == {}
    assert merged.failed_steps == {"s": StepFailure(error_type="boom", message="no", traceback="t")}
    assert merged.step_statuses == {"s": StepStatus.FAILED}


def test_a_result_keeps_its_attempt_and_payload() -> None:
    merged = merge_steps([row(1, "result", 3, place="here")])
    assert merged.completed_steps["s"].attempt == 3
    assert merged.completed_steps["s"].payload == {"attempt": 3, "place": "here"}


def test_steps_do_not_touch_each_other() -> None:
    other = StepUpdate(step_id="t", update_type="error", payload={"attempt": 1}, seq=2)
    merged = merge_steps([row(1, "result"), other])
    assert merged.step_statuses == {"s": StepStatus.COMPLETED, "t": StepStatus.FAILED}
