"""What can be said of a whole store: how many sessions there are, and which tasks wait for their time."""

from __future__ import annotations

from nonoka.decisions.turn import Failure, begin, retry_later
from nonoka.ports.store import Store
from nonoka.records.commit import Changes, TaskOutcome
from tests.support.manual_clock import ManualClock
from tests.support.sessions import answer, answering, claimed, created, deciding, take

BUSY = Failure("rate_limited", "slow down", may_pass=True, retry_after_ms=60_000)


async def test_sessions_are_counted_by_status(store: Store, clock: ManualClock) -> None:
    assert await store.count_sessions() == {}
    for _ in range(2):
        _, claim = await claimed(store, clock)
        await store.commit(claim, answering(answer()))
    await created(store, clock)

    assert await store.count_sessions() == {"completed": 2, "created": 1}


async def test_a_task_that_waits_for_its_time_says_why(store: Store, clock: ManualClock) -> None:
    """The reason is that of its last failed attempt."""
    session_id, claim = await claimed(store, clock)
    assert await store.ready_tasks(limit=10) == []
    await store.commit(claim, deciding(retry_later, BUSY, 0.5))

    (waits,) = await store.ready_tasks(limit=10)

    assert (waits.task.session_id, waits.task.key) == (session_id, "turn:1")
    assert waits.task.not_before > clock.now_ms()
    assert (waits.error_type, waits.message) == ("rate_limited", "slow down")


async def test_what_has_been_due_longest_is_told_first_and_no_more_than_asked(
    store: Store, clock: ManualClock
) -> None:
    waits = [90_000, 30_000, 60_000]
    made = []
    for wait in waits:
        session_id, claim = await claimed(store, clock)
        failure = Failure("network", "away", may_pass=True, retry_after_ms=wait)
        await store.commit(claim, deciding(retry_later, failure, 0.5))
        made.append(session_id)

    due = await created(store, clock)

    found = await store.ready_tasks(limit=2)

    assert [waits.task.session_id for waits in found] == [due, made[1]]


async def test_a_task_that_waits_without_a_failure_has_no_reason(store: Store, clock: ManualClock) -> None:
    """An attempt that was begun since is not the one that failed."""
    session_id, claim = await claimed(store, clock)
    await store.commit(claim, deciding(retry_later, BUSY, 0.5))
    clock.advance_ms(400_000)
    again = await take(store, session_id, decide=deciding(begin))
    later = clock.now_ms() + 1_000
    await store.commit(again.claim, lambda _: Changes(task=TaskOutcome(kind="ready", not_before=later)))

    (waits,) = await store.ready_tasks(limit=10)

    assert (waits.error_type, waits.message) == (None, None)
