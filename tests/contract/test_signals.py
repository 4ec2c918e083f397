"""Signals: written by anyone, and read by a task that the same transaction makes sure of."""

from __future__ import annotations

import asyncio

import pytest

from nonoka.decisions.turn import attend, begin
from nonoka.errors import UnknownSession
from nonoka.ports.store import Store
from nonoka.records.commit import Changes, NewSignal, TaskOutcome
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.task import Task, TaskStatus
from tests.support.manual_clock import ManualClock
from tests.support.sessions import answer, answering, claimed, created, deciding, message, signal, take, writing

PAUSE_NOW = NewSignal(kind=SignalKind.PAUSE, payload={"now": "true"})


async def tasks_of(store: Store, session_id: str) -> list[Task]:
    return list((await store.detail(session_id)).tasks)


async def completed(store: Store, clock: ManualClock) -> str:
    session_id, claim = await claimed(store, clock)
    await store.commit(claim, answering(answer()))
    return session_id


async def paused(store: Store, clock: ManualClock) -> str:
    session_id, claim = await claimed(store, clock)
    await store.add_signal(session_id, signal(SignalKind.PAUSE))
    await store.commit(claim, deciding(attend))
    return session_id


async def test_a_session_numbers_its_signals_from_one(store: Store, clock: ManualClock) -> None:
    first, second = await created(store, clock), await created(store, clock)

    assert [await store.add_signal(first, message(text)) for text in "abc"] == [1, 2, 3]
    assert await store.add_signal(second, signal(SignalKind.PAUSE)) == 1

    inbox = (await store.detail(first)).signals
    assert [(s.seq, s.kind, s.payload) for s in inbox] == [
        (seq, SignalKind.MESSAGE, {"text": text}) for seq, text in enumerate("abc", start=1)
    ]
    assert inbox[0].created_at == clock.now_ms()


async def test_signals_written_at_once_all_arrive(store: Store, clock: ManualClock) -> None:
    session_id = await completed(store, clock)

    given = await asyncio.gather(*(store.add_signal(session_id, message(str(n))) for n in range(12)))

    assert sorted(given) == list(range(1, 13))
    assert len((await store.detail(session_id)).signals) == 12
    assert [task.key for task in await tasks_of(store, session_id)] == ["turn:1", "turn:2"]


@pytest.mark.parametrize("kind", list(SignalKind))
async def test_a_signal_to_a_session_that_has_a_task_adds_none(
    store: Store, clock: ManualClock, kind: SignalKind
) -> None:
    """Ready or running, that task will read it."""
    ready = await created(store, clock)
    running, claim = await claimed(store, clock)

    for session_id in (ready, running):
        await store.add_signal(session_id, signal(kind))
        assert len(await tasks_of(store, session_id)) == 1
        assert len((await store.detail(session_id)).signals) == 1
    await store.commit(claim, writing(Changes()))


@pytest.mark.parametrize("kind", list(SignalKind))
async def test_a_signal_makes_a_task_that_waits_for_its_time_due(
    store: Store, clock: ManualClock, kind: SignalKind
) -> None:
    session_id, claim = await claimed(store, clock)
    later = TaskOutcome(kind="ready", not_before=clock.now_ms() + 60_000, retries=1)
    await store.commit(claim, writing(Changes(task=later)))
    assert await store.mark_due(10) == []

    await store.add_signal(session_id, signal(kind))

    (task,) = (await store.standing(session_id)).live_tasks
    assert (task.not_before, task.retries) == (clock.now_ms(), 1)
    assert [due.session_id for due in await store.mark_due(10)] == [session_id]
    assert (await take(store, session_id)).claim.task_id == claim.task_id


@pytest.mark.parametrize("kind", [SignalKind.MESSAGE, SignalKind.RETRY, SignalKind.ROLLBACK])
async def test_what_starts_a_run_gives_an_ended_session_its_next_turn(
    store: Store, clock: ManualClock, kind: SignalKind
) -> None:
    session_id = await completed(store, clock)
    clock.advance_ms(3)

    await store.add_signal(session_id, signal(kind))

    _, new = await tasks_of(store, session_id)
    assert (new.key, new.status, new.attempt, new.fence) == ("turn:2", TaskStatus.READY, 0, 0)
    assert new.not_before <= clock.now_ms()
    assert len((await store.detail(session_id)).signals) == 1


@pytest.mark.parametrize("kind", [SignalKind.PAUSE, SignalKind.CANCEL, SignalKind.RESUME])
async def test_what_an_ended_session_has_no_use_for_counts_as_read(
    store: Store, clock: ManualClock, kind: SignalKind
) -> None:
    session_id = await completed(store, clock)

    assert await store.add_signal(session_id, signal(kind)) == 1

    found = await store.detail(session_id)
    assert found.signals == ()
    assert [task.key for task in found.tasks] == ["turn:1"]
    assert await store.add_signal(session_id, message()) == 2


async def test_a_late_cancel_does_not_hit_the_run_after_it(store: Store, clock: ManualClock) -> None:
    session_id = await completed(store, clock)
    await store.add_signal(session_id, signal(SignalKind.CANCEL))
    await store.add_signal(session_id, message())

    taken = await take(store, session_id)

    assert taken.view.state.status is SessionStatus.RUNNING


@pytest.mark.parametrize("kind", [SignalKind.MESSAGE, SignalKind.PAUSE])
async def test_a_paused_session_keeps_a_message_until_it_goes_on(
    store: Store, clock: ManualClock, kind: SignalKind
) -> None:
    session_id = await paused(store, clock)

    await store.add_signal(session_id, signal(kind))

    found = await store.detail(session_id)
    assert [task.status for task in found.tasks] == [TaskStatus.DONE]
    assert [s.kind for s in found.signals] == [kind]
    assert (await store.standing(session_id)).at_rest


@pytest.mark.parametrize("kind", [SignalKind.ANSWER, SignalKind.ROLLBACK])
async def test_what_a_paused_session_has_to_hear_gives_it_a_task(
    store: Store, clock: ManualClock, kind: SignalKind
) -> None:
    """Whether it goes on then is for the one who reads it."""
    session_id = await paused(store, clock)

    await store.add_signal(session_id, signal(kind))

    last = (await tasks_of(store, session_id))[-1]
    assert (last.key, last.status) == ("turn:2", TaskStatus.READY)


@pytest.mark.parametrize("kind", [SignalKind.RESUME, SignalKind.RETRY, SignalKind.CANCEL])
async def test_what_ends_a_pause_gives_the_session_a_task(
    store: Store, clock: ManualClock, kind: SignalKind
) -> None:
    session_id = await paused(store, clock)

    await store.add_signal(session_id, signal(kind))

    assert [task.key for task in await tasks_of(store, session_id)] == ["turn:1", "turn:2"]
    status = (await take(store, session_id)).view.state.status
    assert status is (SessionStatus.CANCELLED if kind is SignalKind.CANCEL else SessionStatus.RUNNING)


@pytest.mark.parametrize("kind", [SignalKind.ANSWER, SignalKind.ROLLBACK])
async def test_what_a_person_asks_of_a_paused_session_gives_it_a_task(
    store: Store, clock: ManualClock, kind: SignalKind
) -> None:
    session_id = await paused(store, clock)
    await store.add_signal(session_id, signal(kind))
    assert [task.key for task in await tasks_of(store, session_id)] == ["turn:1", "turn:2"]


async def test_a_signal_to_an_unknown_session_is_refused(store: Store, clock: ManualClock) -> None:
    with pytest.raises(UnknownSession):
        await store.add_signal(clock.new_id(), message())


INTERRUPTING = [signal(SignalKind.CANCEL), PAUSE_NOW]


@pytest.mark.parametrize("new", [*map(signal, SignalKind), PAUSE_NOW, message("now")], ids=str)
async def test_a_worker_learns_of_what_interrupts_a_session_that_it_runs(
    store: Store, clock: ManualClock, new: NewSignal
) -> None:
    """A cancel does, and a pause that can't wait for the call in flight."""
    mine, _ = await claimed(store, clock, "w1")
    theirs, _ = await claimed(store, clock, "w2")
    ready = await created(store, clock)
    assert await store.sessions_to_interrupt("w1") == set()

    for session_id in (mine, theirs, ready):
        await store.add_signal(session_id, new)

    wanted = {mine} if new in INTERRUPTING else set()
    assert await store.sessions_to_interrupt("w1") == wanted


@pytest.mark.parametrize("new", INTERRUPTING, ids=str)
async def test_an_interrupt_that_had_its_effect_is_told_no_more(
    store: Store, clock: ManualClock, new: NewSignal
) -> None:
    session_id, claim = await claimed(store, clock)
    await store.add_signal(session_id, new)

    await store.commit(claim, writing(Changes(drained=(1,))))

    assert await store.sessions_to_interrupt("w1") == set()


async def test_a_signal_and_the_end_of_a_turn_never_miss_each_other(store: Store, clock: ManualClock) -> None:
    """Written just before or just after the commit that ends the run: either way a task will read it."""
    for _ in range(25):
        session_id, claim = await claimed(store, clock)

        await asyncio.gather(store.commit(claim, answering(answer())), store.add_signal(session_id, message()))

        taken = await store.claim("w1", deciding(begin), session_id=session_id)
        assert taken is not None
        assert taken.view.signals == ()
        assert [entry.content for entry in await store.conversation(session_id)][-1] == "and then?"
        await store.commit(taken.claim, answering(answer()))
