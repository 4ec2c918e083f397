"""Merging step updates: what decides is the store's counter, whatever the order they come in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nonoka.decisions.step_merge import merge_steps
from nonoka.records.session import StepStatus
from nonoka.records.step_update import StepUpdate

STATES = [state.value for state in StepStatus]


@st.composite
def histories(draw: st.DrawFn) -> list[StepUpdate]:
    """Any rows at all, numbered as a store numbers them."""
    kinds = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["a", "b"]),
                st.sampled_from(["status", "result", "error"]),
                st.integers(1, 3),
                st.sampled_from(STATES),
            ),
            max_size=10,
        )
    )
    return [
        StepUpdate.model_validate(
            {
                "step_id": step,
                "update_type": kind,
                "payload": {"attempt": attempt} | ({"state": state} if kind == "status" else {}),
                "seq": seq,
            }
        )
        for seq, (step, kind, attempt, state) in enumerate(kinds, start=1)
    ]


@st.composite
def lives(draw: st.DrawFn) -> list[StepUpdate]:
    """Rows as calls write them: attempts one after another, each begun, then settled, answered or failed."""
    rows: list[tuple[str, dict[str, object]]] = []
    for attempt in range(1, draw(st.integers(1, 4)) + 1):
        rows.append(("status", {"attempt": attempt, "state": "running"}))
        outcome = draw(st.sampled_from(["pending", "result", "error", "none"]))
        if outcome == "pending":
            rows.append(("status", {"attempt": attempt, "state": "pending"}))
        elif outcome != "none":
            rows.append((outcome, {"attempt": attempt}))
    return [
        StepUpdate.model_validate({"step_id": "s", "update_type": kind, "payload": payload, "seq": seq})
        for seq, (kind, payload) in enumerate(rows, start=1)
    ]


@given(rows=histories(), data=st.data())
def test_the_order_they_are_given_in_does_not_matter(rows: list[StepUpdate], data: st.DataObject) -> None:
    assert merge_steps(data.draw(st.permutations(rows))) == merge_steps(rows)


@given(rows=histories())
def test_a_step_never_has_both_a_result_and_a_failure(rows: list[StepUpdate]) -> None:
    merged = merge_steps(rows)
    assert not merged.completed_steps.keys() & merged.failed_steps.keys()


@given(rows=histories())
def test_the_newest_outcome_of_a_step_is_the_one_that_holds(rows: list[StepUpdate]) -> None:
    merged = merge_steps(rows)
    newest = {row.step_id: row.update_type for row in rows if row.update_type != "status"}
    assert merged.completed_steps.keys() == {step for step, kind in newest.items() if kind == "result"}
    assert merged.failed_steps.keys() == {step for step, kind in newest.items() if kind == "error"}


@given(rows=histories())
def test_every_step_that_was_written_of_has_a_status(rows: list[StepUpdate]) -> None:
    assert merge_steps(rows).step_statuses.keys() == {row.step_id for row in rows}


@given(rows=lives())
def test_the_newest_row_of_each_type_says_all_that_the_whole_history_says(rows: list[StepUpdate]) -> None:
    """The store keeps one row a step and type: nothing is lost with the ones they replaced."""
    newest = {row.update_type: row for row in rows}
    assert merge_steps(newest.values()) == merge_steps(rows)
