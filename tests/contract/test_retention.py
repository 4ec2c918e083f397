"""What a collection asks of the store: what is old, what is left, what may be let go of."""

from __future__ import annotations

import pytest

from nonoka.errors import UnknownSession
from nonoka.ports.store import Store
from nonoka.records.commit import Changes, NewSession, TaskOutcome
from nonoka.records.retention import Leftover
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.task import WORKSPACE
from nonoka.records.workspace import SnapshotTaken
from tests.support.manual_clock import ManualClock
from tests.support.sessions import answer, answering, claimed, message, new_session, signal, take, writing

A_DAY = 86_400_000


async def ended(store: Store, clock: ManualClock, new: NewSession | None = None) -> str:
    """A session whose only run is answered."""
    new = new or new_session(clock)
    await store.create_session(new)
    taken = await take(store, new.index.session_id)
    await store.commit(taken.claim, answering(answer()))
    return new.index.session_id


def within(new: NewSession, **of: object) -> NewSession:
    """The same, with these in its index."""
    return new.model_copy(update={"index": new.index.model_copy(update=of)})


async def old_ids(store: Store, before: int) -> list[str]:
    return [one.index.session_id for one in await store.old_sessions(before, limit=100)]


async def test_old_are_ended_sessions_that_were_left_alone(store: Store, clock: ManualClock) -> None:
    first = await ended(store, clock)
    clock.advance_ms(10)
    second = await ended(store, clock)
    waiting, _ = await claimed(store, clock)
    clock.advance_ms(A_DAY)
    young = await ended(store, clock)

    assert await old_ids(store, clock.now_ms()) == [first, second]
    assert await old_ids(store, clock.now_ms() + 1) == [first, second, young]
    assert waiting not in await old_ids(store, clock.now_ms() + A_DAY)


async def test_a_page_begins_after_the_last_of_the_one_before(store: Store, clock: ManualClock) -> None:
    """Also among sessions that were created in one millisecond."""
    created = [await ended(store, clock) for _ in range(5)]
    clock.advance_ms(A_DAY)
    found: list[str] = []
    last = None
    while page := await store.old_sessions(clock.now_ms(), limit=2, after=last):
        found += [one.index.session_id for one in page]
        last = page[-1].index
    assert sorted(found) == sorted(created)
    assert len(found) == 5


async def test_old_sessions_are_deleted_whole(store: Store, clock: ManualClock) -> None:
    session_id = await ended(store, clock)
    clock.advance_ms(A_DAY)

    assert await store.delete_old_sessions([session_id, "none"], clock.now_ms()) == [session_id]

    with pytest.raises(UnknownSession):
        await store.detail(session_id)
    assert await store.known_sessions([session_id, "none"]) == set()


async def test_what_was_taken_up_again_meanwhile_is_not_deleted(store: Store, clock: ManualClock) -> None:
    """It is decided in the transaction that deletes."""
    session_id = await ended(store, clock)
    clock.advance_ms(A_DAY)
    assert await old_ids(store, clock.now_ms()) == [session_id]
    await store.add_signal(session_id, message())

    assert await store.delete_old_sessions([session_id], clock.now_ms()) == []

    (found,) = await store.old_sessions(clock.now_ms(), limit=1)
    assert found.busy
    assert await store.known_sessions([session_id]) == {session_id}


async def test_parents_and_children_of_what_is_at_work_stay(store: Store, clock: ManualClock) -> None:
    parent = await ended(store, clock)
    child = await ended(store, clock, within(new_session(clock), parent=parent))
    other = await ended(store, clock)
    clock.advance_ms(A_DAY)
    await store.add_signal(child, message("go on"))
    assert await store.delete_old_sessions([parent, child, other], clock.now_ms()) == [other]

    taken = await take(store, child)
    await store.commit(taken.claim, answering(answer()))
    await store.add_signal(parent, message("go on"))
    clock.advance_ms(A_DAY)
    assert await store.delete_old_sessions([parent, child], clock.now_ms()) == []

    taken = await take(store, parent)
    await store.commit(taken.claim, answering(answer()))
    clock.advance_ms(A_DAY)
    assert await store.delete_old_sessions([parent, child], clock.now_ms()) == [parent, child]


async def test_what_was_made_for_a_deleted_session_is_known_until_it_is_gone(
    store: Store, clock: ManualClock
) -> None:
    """Not while another session works in it."""
    tree = {"repository": "/project", "branch": "nonoka/x"}
    place = "/project.nonoka-worktrees/x"
    owner = await ended(store, clock, within(new_session(clock), working_dir=place, metadata={"worktree": tree}))
    guest = await ended(store, clock, within(new_session(clock), working_dir=f"{place}/deep"))
    await ended(store, clock, within(new_session(clock), working_dir=f"{place}-2"))
    assert await store.leftovers() == []

    await store.delete_session(owner)
    assert await store.leftovers() == []
    await store.delete_session(guest)
    assert await store.leftovers() == [Leftover(directory=place, session_id=owner, repository="/project")]
    await store.forget_leftover(place)
    assert await store.leftovers() == []


def snapshot_of(session_id: str, number: int, at: int) -> SnapshotTaken:
    return SnapshotTaken(
        snapshot_id=f"{session_id}-{number}",
        session_id=session_id,
        workspace="/somewhere",
        turn=number,
        step_id=f"turn:{number}/call:0",
        why="before_call",
        taken_at=at,
    )


async def with_snapshots(store: Store, clock: ManualClock, *numbers: int, end: bool) -> str:
    session_id, claim = await claimed(store, clock)
    taken = tuple(snapshot_of(session_id, number, clock.now_ms() + number) for number in numbers)
    await store.commit(claim, writing(Changes(snapshots=taken)))
    if end:
        await store.commit(claim, answering(answer()))
    return session_id


async def test_only_the_oldest_snapshots_of_ended_sessions_are_let_go(store: Store, clock: ManualClock) -> None:
    """Their rows stay: a rollback must not take a later one for them."""
    first = await with_snapshots(store, clock, 3, 1, end=True)
    second = await with_snapshots(store, clock, 2, 9, end=True)
    at_work = await with_snapshots(store, clock, 0, end=False)
    until = clock.now_ms() + 5
    assert await store.spare_snapshots(taken_until=until) == 3

    assert await store.let_go_of_snapshots(2, taken_until=until) == 2

    assert await store.snapshots_in_use() == {f"{first}-3", f"{second}-9", f"{at_work}-0"}
    assert await store.let_go_of_snapshots(5, taken_until=until) == 1
    assert await store.snapshots_in_use() == {f"{second}-9", f"{at_work}-0"}
    assert len(await store.snapshots_of(first)) == 2
    await store.add_signal(second, message("go on"))
    assert await store.spare_snapshots(taken_until=until + 100) == 0


async def test_one_of_many_makes_the_collection_that_is_due(store: Store, clock: ManualClock) -> None:
    assert await store.begin_collection(again_in_ms=100)
    assert not await store.begin_collection(again_in_ms=100)
    clock.advance_ms(100)
    assert await store.begin_collection(again_in_ms=100), "who began it was killed"
    await store.end_collection(next_in_ms=1_000)
    clock.advance_ms(999)
    assert not await store.begin_collection(again_in_ms=100)
    clock.advance_ms(1)
    assert await store.begin_collection(again_in_ms=100)


async def test_who_waits_for_a_workspace_is_not_held_up_by_a_deletion(store: Store, clock: ManualClock) -> None:
    """A workspace is a running task's, and a session with one is not deleted: nobody can wait for what is gone."""
    holder, claim = await claimed(store, clock)
    await store.commit(claim, writing(Changes(workspace="take")))
    waiter, waiting = await claimed(store, clock, "w2")
    wait = TaskOutcome(kind="waiting", waits_for=WORKSPACE)
    await store.commit(waiting, writing(Changes(task=wait)))
    done = await store.commit(claim, answering(answer()))
    assert done.view.state.status is SessionStatus.COMPLETED

    await store.delete_session(holder)
    woken = [*done.woken, *await store.free_workspaces()]

    assert woken == [f"{waiter}/turn:1"]
    await store.add_signal(waiter, signal(SignalKind.CANCEL))
    assert (await store.claim("w3", answering(answer()), session_id=waiter)) is not None
