"""Claiming: who gets which task, and what a claim changes."""

from __future__ import annotations

import asyncio

import pytest

from nonoka.decisions.recovery import release_lost
from nonoka.decisions.retry import resend_after_ms
from nonoka.decisions.turn import begin
from nonoka.ports.store import GIVE_WAY_MS, LEASE_MS, Store
from nonoka.records.commit import Changes, SessionView, TaskOutcome
from nonoka.records.event import EventType
from nonoka.records.memory import MemoryRole
from nonoka.records.session import SessionStatus
from nonoka.records.task import TaskStatus, task_id_of
from tests.support.manual_clock import ManualClock
from tests.support.sessions import (
    a_worker,
    answer,
    answering,
    claimed,
    created,
    deciding,
    message,
    new_session,
    take,
    writing,
)


def released(not_before: int) -> Changes:
    return Changes(task=TaskOutcome(kind="ready", not_before=not_before, retries=1))


async def test_a_claim_raises_fence_and_attempt_and_holds_a_lease(store: Store, clock: ManualClock) -> None:
    session_id = await created(store, clock)

    taken = await store.claim("w1", deciding(begin))

    assert taken is not None
    assert (taken.claim.session_id, taken.claim.worker_id, taken.claim.fence) == (session_id, "w1", 1)
    (task,) = (await store.detail(session_id)).tasks
    assert task == taken.view.task
    assert (task.status, task.fence, task.attempt, task.lease_owner) == (TaskStatus.RUNNING, 1, 1, "w1")
    assert task.lease_expires_at == clock.monotonic_ms() + LEASE_MS


async def test_a_claim_decides_on_the_session_as_it_is_with_the_task_claimed(
    store: Store, clock: ManualClock
) -> None:
    """The view shows the raised fence, the inbox and where the conversation stands."""
    session_id = await created(store, clock)
    await store.add_signal(session_id, message("and this"))
    seen: list[SessionView] = []

    def look(view: SessionView) -> Changes:
        seen.append(view)
        return Changes()

    await store.claim("w1", look)

    (view,) = seen
    assert (view.task.status, view.task.fence, view.now) == (TaskStatus.RUNNING, 1, clock.now_ms())
    assert view.state.status is SessionStatus.CREATED
    assert view.state.memory_entries == ()
    assert [(s.seq, s.payload) for s in view.signals] == [(1, {"text": "and this"})]
    assert (view.next_position, view.last_role, view.last_has_calls) == (1, MemoryRole.USER, False)
    assert view.calls == ()


async def test_a_claims_first_changes_are_in_its_transaction(store: Store, clock: ManualClock) -> None:
    session_id, _ = await claimed(store, clock)

    found = await store.detail(session_id)

    assert found.state.status is SessionStatus.RUNNING
    assert found.events[-1].type is EventType.TURN_STARTED
    assert found.events[-1].data["fence"] == 1


async def test_a_claim_may_finish_its_task_at_once(store: Store, clock: ManualClock) -> None:
    session_id = await created(store, clock)

    taken = await store.claim("w1", writing(Changes(task=TaskOutcome(kind="done"))))

    assert taken is not None
    assert (taken.view.task.status, taken.view.task.lease_owner) == (TaskStatus.DONE, None)
    assert (await store.detail(session_id)).tasks == (taken.view.task,)


async def test_a_claim_whose_decision_raises_takes_nothing(store: Store, clock: ManualClock) -> None:
    session_id = await created(store, clock)
    before = await store.detail(session_id)

    def refuse(view: SessionView) -> Changes:
        raise LookupError(view.task.task_id)

    with pytest.raises(LookupError):
        await store.claim("w1", refuse)

    assert await store.detail(session_id) == before


async def test_a_task_is_claimed_once_however_many_try_at_once(store: Store, clock: ManualClock) -> None:
    session_id = await created(store, clock)
    task_id = task_id_of(session_id, "turn:1")

    tries = await asyncio.gather(
        *(store.claim(f"w{number}", deciding(begin), task_id=task_id) for number in range(8))
    )

    assert len([taken for taken in tries if taken is not None]) == 1
    (task,) = (await store.detail(session_id)).tasks
    assert (task.fence, task.attempt) == (1, 1)


async def test_as_many_tasks_as_there_are_go_to_as_many_claims(store: Store, clock: ManualClock) -> None:
    """No task goes twice, none is left."""
    wanted = {await created(store, clock) for _ in range(5)}

    tries = await asyncio.gather(*(store.claim(f"w{number}", deciding(begin)) for number in range(9)))

    taken = [found.claim.session_id for found in tries if found is not None]
    assert len(taken) == 5
    assert set(taken) == wanted


async def test_the_longest_due_task_comes_first(store: Store, clock: ManualClock) -> None:
    created_in_order = []
    for _ in range(3):
        created_in_order.append(await created(store, clock))
        clock.advance_ms(1)

    taken = [await store.claim("w1", deciding(begin)) for _ in range(3)]

    assert [found.claim.session_id for found in taken if found] == created_in_order


async def test_of_tasks_due_at_the_same_time_the_first_made_comes_first(store: Store, clock: ManualClock) -> None:
    created_in_order = [await created(store, clock) for _ in range(4)]

    taken = [await store.claim("w1", deciding(begin)) for _ in range(4)]

    assert [found.claim.session_id for found in taken if found] == created_in_order


async def test_a_claim_by_id_takes_that_task(store: Store, clock: ManualClock) -> None:
    await created(store, clock)
    second = await created(store, clock)

    taken = await store.claim("w1", deciding(begin), task_id=task_id_of(second, "turn:1"))

    assert taken is not None
    assert taken.claim.session_id == second


async def test_a_claim_by_the_id_of_a_taken_task_takes_the_next_due_one(store: Store, clock: ManualClock) -> None:
    """A doubled message does somebody else's work instead of nothing."""
    first = await created(store, clock)
    second = await created(store, clock)
    await take(store, first)

    taken = await store.claim("w2", deciding(begin), task_id=task_id_of(first, "turn:1"))

    assert taken is not None
    assert taken.claim.session_id == second


async def test_a_claim_by_an_unknown_id_takes_the_next_due_one(store: Store, clock: ManualClock) -> None:
    session_id = await created(store, clock)

    taken = await store.claim("w1", deciding(begin), task_id="gone/turn:7")

    assert taken is not None
    assert taken.claim.session_id == session_id


async def test_a_claim_for_a_session_takes_no_other_sessions_task(store: Store, clock: ManualClock) -> None:
    first = await created(store, clock)
    second = await created(store, clock)
    await take(store, second)

    assert await store.claim("w1", deciding(begin), session_id=second) is None
    first_task = task_id_of(first, "turn:1")
    assert await store.claim("w1", deciding(begin), task_id=first_task, session_id=second) is None
    assert (await store.detail(first)).tasks[0].status is TaskStatus.READY


async def test_a_task_is_not_claimed_before_its_time(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)
    await store.commit(claim, writing(released(clock.now_ms() + 100)))

    clock.advance_ms(99)
    assert await store.claim("w2", deciding(begin), task_id=claim.task_id) is None

    clock.advance_ms(1)
    assert (await take(store, session_id, "w2")).claim.fence == 3


async def test_the_tasks_of_agents_that_a_worker_cannot_load_are_left_to_others(
    store: Store, clock: ManualClock
) -> None:
    theirs = await created(store, clock, agent="theirs")
    ours = await created(store, clock, agent="ours")
    task_id = task_id_of(theirs, "turn:1")

    taken = await store.claim("w1", deciding(begin), task_id=task_id, agents_to_skip=["theirs", "more"])

    assert taken is not None
    assert taken.claim.session_id == ours
    assert await store.claim("w1", deciding(begin), agents_to_skip=["theirs"]) is None
    assert await store.claim("w1", deciding(begin), session_id=theirs, agents_to_skip=["theirs"]) is None
    assert (await take(store, theirs, "w2")).claim.session_id == theirs


async def test_nothing_is_claimed_from_an_empty_store(store: Store) -> None:
    assert await store.claim("w1", deciding(begin)) is None


async def test_a_due_task_is_sent_once_and_again_at_doubling_intervals(store: Store, clock: ManualClock) -> None:
    new = new_session(clock, agent="coder")
    await store.create_session(new)
    task_id = task_id_of(new.index.session_id, "turn:1")

    (due,) = await store.mark_due(10)
    assert (due.task_id, due.session_id, due.agent, due.deaths) == (
        task_id,
        new.index.session_id,
        "coder",
        0,
    )

    for sends in range(1, 12):
        clock.advance_ms(resend_after_ms(sends) - 1)
        assert await store.mark_due(10) == []
        clock.advance_ms(1)
        assert [again.task_id for again in await store.mark_due(10)] == [task_id]


async def test_sending_takes_the_longest_due_first_and_no_more_than_asked(
    store: Store, clock: ManualClock
) -> None:
    created_in_order = []
    for _ in range(4):
        created_in_order.append(await created(store, clock))
        clock.advance_ms(1)

    assert [due.session_id for due in await store.mark_due(3)] == created_in_order[:3]
    assert [due.session_id for due in await store.mark_due(3)] == created_in_order[3:]


async def test_what_is_claimed_or_waits_for_its_time_is_not_sent(store: Store, clock: ManualClock) -> None:
    await claimed(store, clock)
    _, waiting = await claimed(store, clock)
    await store.commit(waiting, writing(released(clock.now_ms() + 5)))

    assert await store.mark_due(10) == []
    clock.advance_ms(5)
    assert [due.task_id for due in await store.mark_due(10)] == [waiting.task_id]


async def test_a_task_of_a_skipped_agent_is_not_marked_as_sent(store: Store, clock: ManualClock) -> None:
    await created(store, clock, agent="theirs")

    assert await store.mark_due(10, agents_to_skip=["theirs"]) == []
    assert len(await store.mark_due(10)) == 1


async def test_a_released_task_is_sent_again_at_once(store: Store, clock: ManualClock) -> None:
    """What was sent before the claim doesn't delay the next owner."""
    await created(store, clock)
    await store.mark_due(10)
    taken = await store.claim("w1", deciding(begin))
    assert taken is not None

    await store.commit(taken.claim, writing(released(0)))

    (due,) = await store.mark_due(10)
    assert due.task_id == taken.claim.task_id


async def test_renewing_moves_all_leases_of_a_worker_and_only_its(store: Store, clock: ManualClock) -> None:
    await store.register_worker(a_worker("w1", clock))
    first, first_claim = await claimed(store, clock, "w1")
    second, second_claim = await claimed(store, clock, "w1")
    other, _ = await claimed(store, clock, "w2")
    clock.advance_ms(20_000)

    held = await store.renew("w1")

    assert held == {first_claim.task_id: 1, second_claim.task_id: 1}
    for session_id in (first, second):
        (task,) = (await store.detail(session_id)).tasks
        assert task.lease_expires_at == clock.monotonic_ms() + LEASE_MS
    (theirs,) = (await store.detail(other)).tasks
    assert theirs.lease_expires_at == clock.monotonic_ms() + 10_000
    (worker,) = await store.workers()
    assert worker.seen_at == clock.now_ms()


async def test_renewing_tells_which_claims_are_gone(store: Store, clock: ManualClock) -> None:
    _, finished = await claimed(store, clock)
    _, kept = await claimed(store, clock)
    await store.commit(finished, answering(answer()))

    assert await store.renew("w1") == {kept.task_id: kept.fence}


async def test_the_next_turn_can_be_claimed_in_the_commit_that_makes_it(store: Store, clock: ManualClock) -> None:
    """One transaction ends a turn and begins the next; no other worker can come in between."""
    session_id, claim = await claimed(store, clock)
    await store.add_signal(session_id, message())

    done = await store.commit(claim, answering(answer()), then_claim=deciding(begin))

    assert done.next_claim is not None
    assert done.next_claim.task_id == task_id_of(session_id, "turn:2")
    assert (done.next_claim.worker_id, done.next_claim.fence) == ("w1", 1)
    assert (done.view.task.key, done.view.task.status) == ("turn:2", TaskStatus.RUNNING)
    assert done.view.task.attempt == 1
    assert done.view.last_role is MemoryRole.USER
    assert done.claim == claim
    assert done.changes.next_key == "turn:2"


async def test_without_a_next_turn_there_is_no_next_claim(store: Store, clock: ManualClock) -> None:
    _, claim = await claimed(store, clock)

    done = await store.commit(claim, answering(answer()), then_claim=deciding(begin))

    assert done.next_claim is None
    assert (done.view.task.key, done.view.task.status) == ("turn:1", TaskStatus.DONE)


async def test_who_gives_way_leaves_its_next_turn_to_the_queue_while_others_wait(
    store: Store, clock: ManualClock
) -> None:
    """It is ready, behind what was due before it; what waits for its time, or is due just now, is no reason."""
    session_id, claim = await claimed(store, clock)
    await store.add_signal(session_id, message())
    waits, other = await claimed(store, clock)
    await store.commit(other, writing(released(clock.now_ms() + 60_000)))
    waiting = await created(store, clock)

    clock.advance_ms(GIVE_WAY_MS - 1)
    done = await store.commit(claim, answering(answer()), then_claim=deciding(begin), give_way=True)
    assert done.next_claim is not None
    claim = done.next_claim
    await store.add_signal(session_id, message())
    clock.advance_ms(1)
    done = await store.commit(claim, answering(answer()), then_claim=deciding(begin), give_way=True)

    assert done.next_claim is None
    assert done.changes.next_key == "turn:3"
    assert [due.session_id for due in await store.mark_due(10)] == [waiting, session_id]

    await take(store, waiting)
    again = (await take(store, session_id)).claim
    await store.add_signal(session_id, message())
    assert waits not in [due.session_id for due in await store.mark_due(10)]
    done = await store.commit(again, answering(answer()), then_claim=deciding(begin), give_way=True)
    assert done.next_claim is not None


async def test_workers_that_share_take_no_more_than_their_share(store: Store, clock: ManualClock) -> None:
    """One with many free threads leaves something to the others; alone it takes what there is."""
    sessions = [await created(store, clock) for _ in range(5)]
    await store.register_worker(a_worker("w1", clock))
    await store.register_worker(a_worker("w2", clock))

    assert [due.session_id for due in await store.mark_due(10, shared=True)] == sessions[:3]
    assert [due.session_id for due in await store.mark_due(10, shared=True)] == sessions[3:4]
    await store.remove_worker("w2")
    assert [due.session_id for due in await store.mark_due(10, shared=True)] == sessions[4:]


async def test_if_the_next_claim_cannot_be_decided_the_commit_is_not_made(
    store: Store, clock: ManualClock
) -> None:
    session_id, claim = await claimed(store, clock)
    await store.add_signal(session_id, message())
    before = await store.detail(session_id)

    def refuse(view: SessionView) -> Changes:
        raise LookupError(view.task.key)

    with pytest.raises(LookupError, match="turn:2"):
        await store.commit(claim, answering(answer()), then_claim=refuse)

    assert await store.detail(session_id) == before
    assert (await store.commit(claim, answering(answer()))).view.task.status is TaskStatus.DONE


async def test_a_task_that_cost_workers_their_lives_is_claimed_only_by_who_asks_for_such(
    store: Store, clock: ManualClock
) -> None:
    """Others take the next one."""
    dangerous = await created(store, clock)
    for _ in range(2):
        await take(store, dangerous, worker_id="dies")
        [lost] = await store.running_claims()
        taken = await store.take_over(lost, "settler")
        assert taken is not None
        await store.commit(taken[0], deciding(release_lost))
    harmless = await created(store, clock)
    task_id = task_id_of(dangerous, "turn:1")

    other = await store.claim("w1", deciding(begin), task_id=task_id, most_deaths=1)
    assert other is not None
    assert other.claim.session_id == harmless
    assert await store.claim("w1", deciding(begin), task_id=task_id, most_deaths=1) is None
    claimed = await store.claim("w1", deciding(begin), task_id=task_id)
    assert claimed is not None
    assert claimed.view.task.deaths == 2
