"""What metrics ask of a store: how much there is to do, and how long it has been waiting."""

from __future__ import annotations

from nonoka.decisions.turn import Failure, retry_later
from nonoka.ports.store import Store
from nonoka.records.workload import Workload
from tests.support.manual_clock import ManualClock
from tests.support.sessions import answer, answering, claimed, created, deciding

BUSY = Failure("rate_limited", "slow down", may_pass=True, retry_after_ms=60_000)


async def test_a_store_without_tasks_has_nothing_to_do(store: Store) -> None:
    assert await store.workload() == Workload()


async def test_live_tasks_are_counted_and_those_that_ended_are_not(store: Store, clock: ManualClock) -> None:
    """One that runs, one that waits for its time, one that is done, and two that are due."""
    await claimed(store, clock)
    _, retried = await claimed(store, clock)
    await store.commit(retried, deciding(retry_later, BUSY, 0.5))
    _, done = await claimed(store, clock)
    await store.commit(done, answering(answer()))
    await created(store, clock)
    clock.advance_ms(700)
    await created(store, clock)
    clock.advance_ms(300)

    assert await store.workload() == Workload(ready=2, delayed=1, running=1, oldest_ready_ms=1_000)


async def test_a_task_whose_time_has_come_is_ready_since_then(store: Store, clock: ManualClock) -> None:
    """Not since it was made: it was not to be run before."""
    _, retried = await claimed(store, clock)
    await store.commit(retried, deciding(retry_later, BUSY, 0.0))
    clock.advance_ms(60_250)

    assert await store.workload() == Workload(ready=1, oldest_ready_ms=250)
