"""Creating a session: one transaction, after which nothing of it can be lost."""

from __future__ import annotations

import pytest

from nonoka.decisions.turn import begin
from nonoka.errors import StoreError
from nonoka.ports.store import LEASE_MS, Store
from nonoka.records.commit import Changes, SessionView
from nonoka.records.event import EventType
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.session import SessionStatus
from nonoka.records.task import TaskStatus, task_id_of
from tests.support.manual_clock import ManualClock
from tests.support.sessions import created, deciding, new_session


async def test_a_new_session_has_its_prompt_its_first_task_and_its_events(
    store: Store, clock: ManualClock
) -> None:
    """All that a first turn needs is there once create_session returns."""
    new = new_session(clock, "fix the test")

    assert await store.create_session(new) is None

    found = await store.detail(new.index.session_id)
    assert found.index == new.index
    assert found.state.status is SessionStatus.CREATED
    assert [(e.position, e.role, e.content) for e in found.state.memory_entries] == [
        (0, MemoryRole.USER, "fix the test")
    ]
    (task,) = found.tasks
    assert task.task_id == task_id_of(new.index.session_id, "turn:1")
    assert (task.status, task.kind, task.key) == (TaskStatus.READY, "turn", "turn:1")
    assert (task.attempt, task.fence, task.retries, task.deaths) == (0, 0, 0, 0)
    (event,) = found.events
    assert (event.seq, event.at, event.type) == (1, clock.now_ms(), EventType.SESSION_CREATED)
    assert event.data == {"prompt": "fix the test"}


async def test_a_session_that_begins_with_entries_has_these_and_no_task(store: Store, clock: ManualClock) -> None:
    """A fork: it goes on when somebody says so."""
    entries = (
        MemoryEntry(position=0, role=MemoryRole.USER, content="fix the test"),
        MemoryEntry(position=1, role=MemoryRole.ASSISTANT, content="done", metadata={"turn": 1}),
    )
    new = new_session(clock, "").model_copy(update={"entries": entries})

    assert await store.create_session(new) is None

    found = await store.detail(new.index.session_id)
    assert (found.state.memory_entries, found.tasks) == (entries, ())


async def test_the_first_task_is_due_at_once(store: Store, clock: ManualClock) -> None:
    session_id = await created(store, clock)

    assert [due.session_id for due in await store.mark_due(10)] == [session_id]


async def test_a_session_created_with_a_claim_runs_for_its_creator(store: Store, clock: ManualClock) -> None:
    """Claimed in the transaction that makes it: nobody else can come in between."""
    new = new_session(clock)

    taken = await store.create_session(new, claim_by="w1", decide=deciding(begin))

    assert taken is not None
    assert (taken.claim.worker_id, taken.claim.fence) == ("w1", 1)
    task = taken.view.task
    assert (task.status, task.attempt, task.fence, task.lease_owner) == (TaskStatus.RUNNING, 1, 1, "w1")
    assert task.lease_expires_at == clock.monotonic_ms() + LEASE_MS
    assert taken.view.state.status is SessionStatus.RUNNING
    assert await store.claim("w2", deciding(begin)) is None
    assert [e.type for e in await store.events_after(new.index.session_id, 0)] == [
        EventType.SESSION_CREATED,
        EventType.TURN_STARTED,
    ]


async def test_a_creation_whose_decision_raises_leaves_no_session(store: Store, clock: ManualClock) -> None:
    def refuse(view: SessionView) -> Changes:
        raise LookupError(view.task.task_id)

    with pytest.raises(LookupError):
        await store.create_session(new_session(clock), claim_by="w1", decide=refuse)

    assert await store.list_sessions(limit=10) == []
    assert await store.claim("w1", deciding(begin)) is None


async def test_an_id_is_given_once(store: Store, clock: ManualClock) -> None:
    """A second session of the same id is refused and changes nothing of the first."""
    session_id = await created(store, clock, "first")
    before = await store.detail(session_id)

    with pytest.raises(StoreError):
        await store.create_session(new_session(clock, "second", session_id=session_id))

    assert await store.detail(session_id) == before
