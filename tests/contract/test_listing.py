"""Listing: which sessions are found, in which order, and page by page."""

from __future__ import annotations

import pytest

from nonoka.decisions.turn import begin
from nonoka.errors import UnknownSession
from nonoka.ports.store import Store
from nonoka.records.session import SessionStatus
from nonoka.records.session_filter import SessionFilter
from tests.support.manual_clock import ManualClock
from tests.support.sessions import created, deciding, new_session


async def listed(store: Store, matching: SessionFilter, *, limit: int = 100) -> list[str]:
    return [line.index.session_id for line in await store.list_sessions(limit=limit, matching=matching)]


async def works_in(store: Store, clock: ManualClock, session_id: str, directory: str) -> None:
    new = new_session(clock, session_id=session_id)
    index = new.index.model_copy(update={"working_dir": directory})
    await store.create_session(new.model_copy(update={"index": index}))


async def test_sessions_are_listed_by_any_of_several_statuses(store: Store, clock: ManualClock) -> None:
    for session_id in ("a", "b"):
        await created(store, clock, session_id=session_id)
    assert await store.claim("w1", deciding(begin), session_id="a") is not None

    assert await listed(store, SessionFilter(statuses=(SessionStatus.RUNNING,))) == ["a"]
    assert await listed(store, SessionFilter(statuses=(SessionStatus.FAILED,))) == []
    both = (SessionStatus.RUNNING, SessionStatus.CREATED)
    assert await listed(store, SessionFilter(statuses=both)) == ["a", "b"]


async def test_what_was_created_at_that_moment_was_created_since(store: Store, clock: ManualClock) -> None:
    for session_id in ("old", "then", "new"):
        clock.advance_ms(10)
        await created(store, clock, session_id=session_id)
    then = clock.now_ms() - 10

    assert await listed(store, SessionFilter(created_since=then)) == ["new", "then"]
    assert await listed(store, SessionFilter(created_since=then + 11)) == []


async def test_sessions_of_a_directory_are_those_that_work_in_it_or_below(
    store: Store, clock: ManualClock
) -> None:
    for session_id, directory in (("a", "/x/y"), ("b", "/x/y/z"), ("c", "/x/yz"), ("d", "/x"), ("e", "/")):
        await works_in(store, clock, session_id, directory)

    assert await listed(store, SessionFilter(below="/x/y")) == ["a", "b"]
    assert await listed(store, SessionFilter(below="/x/y/")) == ["a", "b"]
    assert await listed(store, SessionFilter(below="/")) == ["a", "b", "c", "d", "e"]
    assert await listed(store, SessionFilter(below="/%")) == []


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("straße", ["abc"]),
        ("STRASSE", ["abc"]),
        ("größe", ["abc"]),
        ("AB", ["abc", "abd"]),
        ("bc", []),
        ("%", ["xyz"]),
        ("_", []),
        ("", ["abc", "abd", "xyz"]),
    ],
)
async def test_a_search_takes_text_literally_in_any_case(
    store: Store, clock: ManualClock, search: str, found: list[str]
) -> None:
    """Anywhere in the title, and only at the beginning of the id."""
    await created(store, clock, "Die GRÖßE der Straße", session_id="abc")
    await created(store, clock, "nothing", session_id="abd")
    await created(store, clock, "100 %", session_id="xyz")

    assert await listed(store, SessionFilter(search=search)) == found


async def test_page_after_page_has_every_session_once(store: Store, clock: ManualClock) -> None:
    """Also those of the same millisecond, and while new ones are made."""
    for number in range(7):
        await created(store, clock, session_id=f"s{number}")
        clock.advance_ms(number % 2)
    everything = await listed(store, SessionFilter())

    seen: list[str] = []
    matching = SessionFilter()
    while page := await listed(store, matching, limit=2):
        seen += page
        matching = SessionFilter(before=page[-1])
        await created(store, clock, session_id=f"late{len(seen)}")

    assert [session_id for session_id in seen if session_id.startswith("s")] == everything
    assert len(set(seen)) == len(seen)


async def test_filters_narrow_what_a_page_is_of(store: Store, clock: ManualClock) -> None:
    for number in range(6):
        await created(store, clock, "odd" if number % 2 else "even", session_id=f"s{number}")
        clock.advance_ms(1)

    assert await listed(store, SessionFilter(search="odd"), limit=2) == ["s5", "s3"]
    assert await listed(store, SessionFilter(search="odd", before="s3"), limit=2) == ["s1"]
    assert await listed(store, SessionFilter(search="odd", before="s4"), limit=2) == ["s3", "s1"]


async def test_a_page_after_an_unknown_session_is_refused_by_name(store: Store) -> None:
    with pytest.raises(UnknownSession, match="'nothing'"):
        await store.list_sessions(limit=1, matching=SessionFilter(before="nothing"))
