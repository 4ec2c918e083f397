"""Recovering: who lost which claim, who settles it, and sessions that have no task."""

from __future__ import annotations

import asyncio

import pytest

from nonoka.decisions.recovery import release_lost
from nonoka.decisions.turn import begin
from nonoka.errors import ClaimLost, StoreError
from nonoka.ports.store import LEASE_MS, Store
from nonoka.records.commit import Changes, TaskOutcome
from nonoka.records.event import EventType
from nonoka.records.session import SessionStatus
from nonoka.records.task import TaskStatus
from tests.support.manual_clock import ManualClock
from tests.support.sessions import a_worker, answer, answering, claimed, created, deciding, take, writing


async def test_every_running_task_is_listed_with_its_owner(store: Store, clock: ManualClock) -> None:
    worker = a_worker("w1", clock)
    await store.register_worker(worker)
    _, known = await claimed(store, clock, "w1")
    _, unknown = await claimed(store, clock, "nobody")
    await created(store, clock)
    _, finished = await claimed(store, clock, "w1")
    await store.commit(finished, answering(answer()))

    claims = {claim.task.task_id: claim for claim in await store.running_claims()}

    assert claims.keys() == {known.task_id, unknown.task_id}
    assert claims[known.task_id].owner == worker
    assert claims[unknown.task_id].owner is None
    assert claims[known.task_id].task.fence == known.fence


async def test_a_lease_runs_out_unless_it_is_renewed(store: Store, clock: ManualClock) -> None:
    await claimed(store, clock, "w1")

    clock.advance_ms(LEASE_MS - 1)
    assert [claim.owner_leases_run_out for claim in await store.running_claims()] == [False]
    clock.advance_ms(1)
    assert [claim.owner_leases_run_out for claim in await store.running_claims()] == [True]
    await store.renew("w1")
    assert [claim.owner_leases_run_out for claim in await store.running_claims()] == [False]


async def test_setting_the_time_of_day_ends_no_lease(store: Store, clock: ManualClock) -> None:
    await claimed(store, clock, "w1")

    clock.jump_ms(24 * 3_600_000)

    assert [claim.owner_leases_run_out for claim in await store.running_claims()] == [False]


async def test_an_owner_counts_as_frozen_only_when_all_its_leases_have_run_out(
    store: Store, clock: ManualClock
) -> None:
    _, old = await claimed(store, clock, "w1")
    await claimed(store, clock, "w2")
    clock.advance_ms(LEASE_MS - 1_000)
    _, young = await claimed(store, clock, "w1")
    clock.advance_ms(2_000)

    run_out = {claim.task.task_id: claim.owner_leases_run_out for claim in await store.running_claims()}

    assert run_out[old.task_id] is False
    assert run_out[young.task_id] is False
    assert [flag for task_id, flag in run_out.items() if task_id not in (old.task_id, young.task_id)] == [True]


async def test_taking_over_raises_the_fence_and_shuts_the_old_owner_out(store: Store, clock: ManualClock) -> None:
    session_id, old = await claimed(store, clock, "w1")
    clock.advance_ms(LEASE_MS)
    (lost,) = await store.running_claims()

    taken = await store.take_over(lost, "sweeper")

    assert taken is not None
    claim, view = taken
    assert (claim.task_id, claim.worker_id, claim.fence) == (old.task_id, "sweeper", old.fence + 1)
    assert (view.task.status, view.task.lease_owner) == (TaskStatus.RUNNING, "sweeper")
    assert (view.task.attempt, view.task.fence) == (1, 2)
    assert view.task.lease_expires_at == clock.monotonic_ms() + LEASE_MS
    assert view.state.status is SessionStatus.RUNNING
    assert await store.renew("w1") == {}
    with pytest.raises(ClaimLost):
        await store.commit(old, answering(answer()))
    await store.commit(claim, deciding(release_lost))
    (task,) = (await store.detail(session_id)).tasks
    assert (task.status, task.deaths, task.fence) == (TaskStatus.READY, 1, 3)


async def test_of_many_that_take_over_one_wins(store: Store, clock: ManualClock) -> None:
    await claimed(store, clock, "w1")
    (lost,) = await store.running_claims()

    tries = await asyncio.gather(*(store.take_over(lost, f"s{number}") for number in range(8)))

    assert len([taken for taken in tries if taken is not None]) == 1
    (claim,) = await store.running_claims()
    assert claim.task.fence == lost.task.fence + 1


async def test_what_was_handed_back_meanwhile_is_not_taken_over(store: Store, clock: ManualClock) -> None:
    """A pass that works from a stale list changes nothing."""
    session_id, claim = await claimed(store, clock, "w1")
    (lost,) = await store.running_claims()
    await store.commit(claim, writing(Changes(task=TaskOutcome(kind="ready"))))
    assert await store.take_over(lost, "sweeper") is None

    again = await take(store, session_id, "w2")
    before = await store.detail(session_id)
    assert await store.take_over(lost, "sweeper") is None

    assert await store.detail(session_id) == before
    await store.commit(again.claim, answering(answer()))
    assert await store.take_over(lost, "sweeper") is None


async def test_a_task_is_released_once_however_many_sweep(store: Store, clock: ManualClock) -> None:
    """Two passes at once count one death."""
    session_id, _ = await claimed(store, clock, "w1")
    clock.advance_ms(LEASE_MS)

    async def one_pass(settler: str) -> None:
        for lost in await store.running_claims():
            if lost.owner_leases_run_out and (taken := await store.take_over(lost, settler)):
                await store.commit(taken[0], deciding(release_lost))

    await asyncio.gather(*(one_pass(f"s{number}") for number in range(4)))

    (task,) = (await store.detail(session_id)).tasks
    assert (task.status, task.deaths) == (TaskStatus.READY, 1)
    told = [event.type for event in await store.events_after(session_id, 0)]
    assert told.count(EventType.TURN_RELEASED) == 1


async def test_a_worker_that_runs_a_task_keeps_its_row(store: Store, clock: ManualClock) -> None:
    """Without the row nobody could tell whether it lives."""
    worker = a_worker("w1", clock)
    await store.register_worker(worker)
    await store.register_worker(a_worker("w2", clock))
    _, claim = await claimed(store, clock, "w1")

    with pytest.raises(StoreError):
        await store.remove_worker("w1")
    assert worker in await store.workers()

    await store.commit(claim, answering(answer()))
    await store.remove_worker("w1")
    assert [found.worker_id for found in await store.workers()] == ["w2"]


@pytest.mark.parametrize("begun", [False, True])
async def test_a_session_that_goes_on_but_has_no_task_gets_one(
    store: Store, clock: ManualClock, begun: bool
) -> None:
    decide = deciding(begin) if begun else writing(Changes())
    session_id, claim = await claimed(store, clock, decide=decide)
    await store.commit(claim, writing(Changes(task=TaskOutcome(kind="dead"))))

    assert await store.repair_taskless() == [session_id]

    found = await store.detail(session_id)
    assert [(task.key, task.status) for task in found.tasks] == [
        ("turn:1", TaskStatus.DEAD),
        ("turn:2", TaskStatus.READY),
    ]
    assert found.events[-1].type is EventType.SESSION_REPAIRED
    assert await store.repair_taskless() == []
    assert (await take(store, session_id)).claim.task_id == found.tasks[1].task_id


async def test_sessions_that_have_a_task_or_have_ended_need_no_repair(store: Store, clock: ManualClock) -> None:
    await created(store, clock)
    await claimed(store, clock)
    _, finished = await claimed(store, clock)
    await store.commit(finished, answering(answer()))
    session_id, claim = await claimed(store, clock)
    paused = (await store.load_session(session_id)).model_copy(
        update={"status": SessionStatus.PAUSED, "memory_entries": ()}
    )
    await store.commit(claim, writing(Changes(state=paused, task=TaskOutcome(kind="done"))))

    assert await store.repair_taskless() == []
