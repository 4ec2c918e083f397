"""When what may pass is tried again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nonoka.decisions.retry import (
    FIRST_BACKOFF_MS,
    LONGEST_ASKED_MS,
    LONGEST_BACKOFF_MS,
    backoff_ms,
    resend_after_ms,
)

LOTS = st.floats(0, 1, exclude_max=True)


@given(retries=st.integers(0, 10**6), lot=LOTS)
def test_a_wait_is_within_its_bounds(retries: int, lot: float) -> None:
    """At least half of what it may be at most, and never beyond the longest."""
    wait = backoff_ms(retries, lot)
    longest = min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** min(retries, 20))
    assert longest / 2 <= wait <= longest


@given(lot=LOTS)
def test_waits_grow_with_each_failure_until_they_are_longest(lot: float) -> None:
    waits = [backoff_ms(retries, lot) for retries in range(12)]
    assert waits == sorted(waits)
    assert waits[0] < waits[4] < waits[7]
    assert waits[-1] == waits[-2]


def test_waits_are_jittered() -> None:
    assert len({backoff_ms(3, lot / 10) for lot in range(10)}) == 10


@given(asked_ms=st.integers(0, 10**8), retries=st.integers(0, 8), lot=LOTS)
def test_a_wait_is_never_shorter_than_what_the_server_asked_for(asked_ms: int, retries: int, lot: float) -> None:
    assert asked_ms <= backoff_ms(retries, lot, asked_ms) <= round(asked_ms * 1.1)


@given(asked_ms=st.integers(LONGEST_ASKED_MS, 10**30), lot=LOTS)
def test_a_server_that_asks_for_an_age_is_not_believed(asked_ms: int, lot: float) -> None:
    """The wait stays a date that can be stored."""
    assert LONGEST_ASKED_MS <= backoff_ms(0, lot, asked_ms) <= round(LONGEST_ASKED_MS * 1.1)


def test_an_unclaimed_task_is_sent_again_at_doubling_intervals_up_to_a_minute() -> None:
    assert [resend_after_ms(sends) for sends in range(1, 10)] == [
        500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000,
    ]  # fmt: skip
    assert resend_after_ms(10**9) == 60_000
