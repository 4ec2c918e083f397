"""What the store knows of its workers' broker."""

from __future__ import annotations

from nonoka.ports.store import Store


async def test_the_first_broker_is_put_on_record_and_stays_there(store: Store) -> None:
    assert await store.agree_on_broker("one") == "one"
    assert await store.agree_on_broker("another") == "one"
    assert await store.agree_on_broker("one") == "one"


async def test_a_broker_takes_the_place_of_the_one_that_was_seen_there_and_of_no_other(store: Store) -> None:
    await store.agree_on_broker("one")
    assert await store.agree_on_broker("late", instead_of="another") == "one"
    assert await store.agree_on_broker("another", instead_of="one") == "another"
    assert await store.agree_on_broker("one") == "another"
