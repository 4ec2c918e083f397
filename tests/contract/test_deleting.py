"""Deleting a session: all of it in one transaction, and never while a task of it runs."""

from __future__ import annotations

import pytest

from nonoka.errors import StoreError, UnknownSession
from nonoka.ports.store import Store
from nonoka.records.commit import Changes, TaskOutcome
from tests.support.manual_clock import ManualClock
from tests.support.sessions import answer, answering, asked, claimed, created, message, new_session


async def test_nothing_is_left_of_a_deleted_session(store: Store, clock: ManualClock) -> None:
    """Conversation, calls, inbox, events and tasks go with it; others stay as they were."""
    session_id, claim = await claimed(store, clock)
    await store.commit(claim, answering(answer("I look", asked("look"))))
    await store.add_signal(session_id, message())
    other = await created(store, clock)
    before = await store.detail(other)
    await store.commit(claim, lambda view: _let_go(view.now))

    await store.delete_session(session_id)

    for looked_for in (store.detail, store.load_session, store.standing, store.find_session):
        with pytest.raises(UnknownSession):
            await looked_for(session_id)
    assert [line.index.session_id for line in await store.list_sessions(limit=10)] == [other]
    assert [due.session_id for due in await store.mark_due(10)] == [other]
    assert (await store.detail(other)).events == before.events


async def test_a_deleted_session_leaves_nothing_to_one_that_takes_its_id(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)
    await store.commit(claim, answering(answer()))
    await store.delete_session(session_id)

    await store.create_session(new_session(clock, "anew", session_id=session_id))

    found = await store.detail(session_id)
    assert [entry.content for entry in found.state.memory_entries] == ["anew"]
    assert (len(found.tasks), len(found.events), found.signals, found.updates) == (1, 1, (), ())


async def test_a_session_with_a_running_task_is_not_deleted(store: Store, clock: ManualClock) -> None:
    """Whoever runs it would go on changing the world for a session that nobody can find."""
    session_id, _ = await claimed(store, clock)
    before = await store.detail(session_id)

    with pytest.raises(StoreError, match="running"):
        await store.delete_session(session_id)

    assert await store.detail(session_id) == before


async def test_a_session_that_waits_for_a_worker_can_be_deleted(store: Store, clock: ManualClock) -> None:
    session_id = await created(store, clock)

    await store.delete_session(session_id)

    assert await store.claim("w1", answering(answer())) is None


async def test_an_unknown_session_is_not_deleted(store: Store) -> None:
    with pytest.raises(UnknownSession):
        await store.delete_session("none")


async def test_a_deletion_is_a_change_that_others_notice(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)
    await store.commit(claim, answering(answer()))
    before = await store.change_mark()

    await store.delete_session(session_id)

    assert await store.change_mark() != before


def _let_go(now: int) -> Changes:
    return Changes(task=TaskOutcome(kind="ready", not_before=now))
