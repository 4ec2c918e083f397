"""Withdrawing entries: the conversation ends earlier, nothing that was stored is lost or written over."""

from __future__ import annotations

import pytest

from nonoka.decisions.draft import Draft
from nonoka.decisions.turn import finish_call
from nonoka.errors import ClaimLost, StoreError
from nonoka.ports.store import Store
from nonoka.records.commit import Changes
from nonoka.records.memory import MemoryEntry, MemoryRole
from tests.support.manual_clock import ManualClock
from tests.support.sessions import (
    answer,
    answering,
    asked,
    claimed,
    created,
    deciding,
    result,
    start,
    user_entry,
    writing,
)


def says(position: int, content: str, **metadata: object) -> MemoryEntry:
    """What the model says at this position."""
    return MemoryEntry.model_validate(
        {"position": position, "role": MemoryRole.ASSISTANT, "content": content, "metadata": metadata}
    )


async def texts(store: Store, session_id: str) -> list[tuple[int, str]]:
    """The conversation; every reader sees the same."""
    read = await store.conversation(session_id)
    assert (await store.load_session(session_id)).memory_entries == tuple(read)
    assert (await store.detail(session_id)).state.memory_entries == tuple(read)
    return [(entry.position, entry.content) for entry in read]


def withdraw(draft: Draft, position: int, newest: MemoryEntry | None, *anew: str) -> None:
    """The decision: what stands from there on goes, these texts take its place."""
    draft.withdraw(position, newest)
    for text in anew:
        draft.append(MemoryRole.USER, text, {})


async def test_what_is_withdrawn_no_reader_sees_and_positions_go_on_rising(
    store: Store, clock: ManualClock
) -> None:
    """The entries written by the same commit stand."""
    session_id, claim = await claimed(store, clock)
    await store.commit(claim, writing(Changes(entries=(says(1, "one"), user_entry(2, "two"), says(3, "three")))))

    done = await store.commit(claim, deciding(withdraw, 2, says(1, "one"), "anew"))

    assert await texts(store, session_id) == [(0, "hello"), (1, "one"), (4, "anew")]
    assert (await store.conversation(session_id, from_position=2))[0].position == 4
    assert (done.view.next_position, done.view.last_role) == (5, MemoryRole.USER)
    assert done.view.state.runtime_state.rewrites == 1


async def test_a_conversation_can_be_withdrawn_to_its_beginning(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)

    done = await store.commit(claim, deciding(withdraw, 0, None))

    assert await texts(store, session_id) == []
    assert (done.view.next_position, done.view.last_role, done.view.last_has_calls) == (1, None, False)


async def test_the_newest_entry_is_the_newest_that_stands(store: Store, clock: ManualClock) -> None:
    """Whether it asks for calls as well."""
    session_id, claim = await claimed(store, clock)
    asks = says(1, "look", tool_calls=[{"id": "call_1_0", "name": "look", "args": {}}])
    await store.commit(claim, writing(Changes(entries=(asks, user_entry(2)))))

    done = await store.commit(claim, deciding(withdraw, 2, asks))

    assert (done.view.last_role, done.view.last_has_calls) == (MemoryRole.ASSISTANT, True)
    assert [position for position, _ in await texts(store, session_id)] == [0, 1]


async def test_a_position_that_was_withdrawn_is_never_written_again(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)
    await store.commit(claim, writing(Changes(entries=(says(1, "first"),))))
    await store.commit(claim, deciding(withdraw, 1, None))

    with pytest.raises(StoreError):
        await store.commit(claim, writing(Changes(entries=(says(1, "second"),))))

    assert await texts(store, session_id) == [(0, "hello")]


async def test_withdrawing_twice_counts_twice_and_leaves_the_first_as_it_was(
    store: Store, clock: ManualClock
) -> None:
    session_id, claim = await claimed(store, clock)
    await store.commit(claim, writing(Changes(entries=(says(1, "a"), says(2, "b")))))
    await store.commit(claim, deciding(withdraw, 2, says(1, "a"), "c"))

    done = await store.commit(claim, deciding(withdraw, 1, user_entry(0), "d"))

    assert await texts(store, session_id) == [(0, "hello"), (4, "d")]
    assert done.view.state.runtime_state.rewrites == 2


async def test_the_turn_whose_request_is_withdrawn_is_open_no_more(store: Store, clock: ManualClock) -> None:
    """Its calls will not run: nothing asks for them."""
    session_id, claim = await claimed(store, clock)
    plans = {0: start(0), 1: start(1)}
    await store.commit(claim, answering(answer("two", asked("a"), asked("b")), plans))
    await store.commit(claim, deciding(finish_call, 0, result("a's"), plans))

    done = await store.commit(claim, deciding(withdraw, 1, user_entry(0)))

    assert (done.view.calls, done.view.state.runtime_state.open_turn) == ((), None)
    assert (await store.detail(session_id)).calls == ()
    assert done.view.next_position == 3


async def test_an_open_turn_whose_request_is_gone_has_no_calls(store: Store, clock: ManualClock) -> None:
    """As a hand may leave it: the session can still be read, claimed and committed to."""
    session_id, claim = await claimed(store, clock)
    await store.commit(claim, answering(answer("one", asked("a")), {0: start(0)}))

    done = await store.commit(claim, writing(Changes(withdraw_from=1)))

    assert done.view.calls == ()
    assert done.view.state.runtime_state.open_turn is not None
    assert (await store.detail(session_id)).calls == ()
    assert done.view.next_position == 3


async def test_a_lost_claim_withdraws_nothing_and_no_other_session_is_touched(
    store: Store, clock: ManualClock
) -> None:
    other = await created(store, clock)
    session_id, claim = await claimed(store, clock)

    with pytest.raises(ClaimLost):
        await store.commit(claim.model_copy(update={"fence": 9}), deciding(withdraw, 0, None))
    await store.commit(claim, deciding(withdraw, 0, None))

    assert await texts(store, session_id) == []
    assert await texts(store, other) == [(0, "hello")]
