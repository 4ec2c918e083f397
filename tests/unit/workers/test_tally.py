"""What a worker tells of its commits, for the metrics."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nonoka.adapters.memory.store import MemoryStore
from nonoka.decisions.recovery import hand_back, release_lost
from nonoka.decisions.retry import MAX_DEATHS
from nonoka.decisions.turn import Failure, attend, begin, finish_call, retry_later
from nonoka.errors import ClaimLost
from nonoka.records.commit import Claim
from nonoka.records.signal import SignalKind
from tests.support.manual_clock import ManualClock
from tests.support.sessions import (
    answer,
    answering,
    asked,
    claimed,
    created,
    deciding,
    result,
    signal,
    start,
    take,
)
from workers.facts import Fact
from workers.tally import tallied

BUSY = Failure("network", "away", may_pass=True)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def told() -> list[Fact]:
    return []


@pytest.fixture
def store(clock: ManualClock, told: list[Fact]) -> Any:
    return tallied(MemoryStore(clock), clock, told.extend)


async def lose(store: Any) -> Claim:
    """The one claim that there is was taken over from its worker."""
    [lost] = await store.running_claims()
    claim, _ = await store.take_over(lost, "sweeper")
    assert isinstance(claim, Claim)
    return claim


async def test_a_turn_is_told_with_its_calls_once_they_are_committed(
    store: Any, clock: ManualClock, told: list[Fact]
) -> None:
    session_id, claim = await claimed(store, clock)
    clock.advance_ms(200)
    await store.commit(claim, answering(answer("", asked("look"))))
    ran = result().model_copy(update={"duration_ms": 70})
    await store.commit(claim, deciding(finish_call, 0, ran, {0: start()}))
    assert told == [Fact("claim"), Fact("call", "look", 70), Fact("task", "turn", 200)]
    await take(store, session_id)
    assert told[-1] == Fact("claim")


async def test_an_attempt_that_may_pass_is_a_retry_and_a_claim_handed_back_is_none(
    store: Any, clock: ManualClock, told: list[Fact]
) -> None:
    session_id, claim = await claimed(store, clock)
    await store.commit(claim, deciding(retry_later, BUSY, 0.5))
    clock.advance_ms(60_000)
    again = await take(store, session_id)
    await store.commit(again.claim, deciding(hand_back))
    assert told == [Fact("claim"), Fact("retry"), Fact("claim")]


async def test_a_lost_claim_is_a_death_and_a_recovery_once_it_is_settled(
    store: Any, clock: ManualClock, told: list[Fact]
) -> None:
    """What it had begun was not run to its end, so nothing is told of that."""
    _, claim = await claimed(store, clock)
    await store.commit(claim, answering(answer("", asked("pay")), {0: start()}))
    lost = await lose(store)
    assert told == [Fact("claim")]
    await store.commit(lost, deciding(release_lost))
    assert told == [Fact("claim"), Fact("death"), Fact("recovery")]
    with pytest.raises(ClaimLost):
        await store.commit(claim, deciding(finish_call, 0, result(), {0: start()}))
    assert len(told) == 3


async def test_a_task_that_is_given_up_is_not_a_recovery(store: Any, clock: ManualClock, told: list[Fact]) -> None:
    session_id = await created(store, clock)
    for _ in range(MAX_DEATHS):
        await take(store, session_id)
        await store.commit(await lose(store), deciding(release_lost))
    assert told.count(Fact("death")) == MAX_DEATHS
    assert told.count(Fact("recovery")) == MAX_DEATHS - 1


async def test_a_call_that_was_cut_off_has_no_duration(store: Any, clock: ManualClock, told: list[Fact]) -> None:
    session_id, claim = await claimed(store, clock, decide=deciding(begin))
    await store.commit(claim, answering(answer("", asked("pay")), {0: start()}))
    await store.add_signal(session_id, signal(SignalKind.CANCEL))
    await store.commit(claim, deciding(attend))
    assert told == [Fact("claim"), Fact("task", "turn", 0)]


async def test_what_is_committed_is_told_though_its_worker_was_told_to_stop_meanwhile(
    store: Any, clock: ManualClock, told: list[Fact]
) -> None:
    """A commit is carried through, so it counts."""
    _, claim = await claimed(store, clock)
    asking = asyncio.create_task(store.commit(claim, answering(answer())))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert told == [Fact("claim"), Fact("task", "turn", 0)]


async def test_a_late_commit_of_a_lost_claim_does_not_end_the_claim_after_it(
    store: Any, clock: ManualClock, told: list[Fact]
) -> None:
    """Both may be the same worker's: it was frozen, and goes on."""
    session_id, late = await claimed(store, clock)
    await store.commit(await lose(store), deciding(release_lost))
    again = await take(store, session_id)
    with pytest.raises(ClaimLost):
        await store.commit(late, answering(answer()))
    clock.advance_ms(40)
    await store.commit(again.claim, answering(answer()))
    assert told[-1] == Fact("task", "turn", 40)
