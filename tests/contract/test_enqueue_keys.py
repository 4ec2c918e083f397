"""The key of a session: under one key one session, however often and from wherever it is asked for."""

from __future__ import annotations

import asyncio

import pytest

from nonoka.engine.accept import SessionRequest, create_session
from nonoka.errors import KeyTaken
from nonoka.ports.store import Store
from nonoka.records.commit import NewSession
from tests.support.manual_clock import ManualClock
from tests.support.sessions import new_session


def keyed(clock: ManualClock, key: str, prompt: str = "hello") -> NewSession:
    new = new_session(clock, prompt)
    return new.model_copy(update={"index": new.index.model_copy(update={"metadata": {"enqueue_key": key}})})


def request(key: str | None, prompt: str = "hello") -> SessionRequest:
    return SessionRequest(
        prompt=prompt, agent="default", model="script:x", working_dir="/somewhere", enqueue_key=key
    )


async def test_a_second_session_of_a_key_is_refused_with_the_first_ones_id(
    store: Store, clock: ManualClock
) -> None:
    first = keyed(clock, "k", "first")
    await store.create_session(first)
    before = await store.detail(first.index.session_id)

    with pytest.raises(KeyTaken) as refused:
        await store.create_session(keyed(clock, "k", "second"), claim_by="w1")

    assert refused.value.session_id == first.index.session_id
    assert await store.detail(first.index.session_id) == before
    assert len(await store.list_sessions(limit=10)) == 1


async def test_whoever_asks_again_under_a_key_gets_the_session_that_is_there(
    store: Store, clock: ManualClock
) -> None:
    made = await asyncio.gather(*(create_session(store, clock, request("k", str(n))) for n in range(8)))

    assert len({session_id for session_id, _ in made}) == 1
    assert len(await store.list_sessions(limit=10)) == 1
    assert (await store.detail(made[0][0])).index.enqueue_key == "k"


async def test_other_keys_and_none_at_all_are_sessions_of_their_own(store: Store, clock: ManualClock) -> None:
    made = [await create_session(store, clock, request(key)) for key in ("k", "K", "k ", "1", "true", None, None)]

    assert len({session_id for session_id, _ in made}) == len(made)


async def test_a_deleted_sessions_key_is_free(store: Store, clock: ManualClock) -> None:
    first, _ = await create_session(store, clock, request("k"))
    await store.delete_session(first)

    second, _ = await create_session(store, clock, request("k"))

    assert second != first
    assert (await store.find_session(second)).enqueue_key == "k"
