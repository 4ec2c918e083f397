"""A session's events for a reader, from any process: what happened, and what happens from now on."""

from __future__ import annotations

from collections.abc import AsyncIterator

from nonoka.ports.clock import Clock
from nonoka.ports.store import ReadStore
from nonoka.records.event import Event

#: Between two looks at whether anything was committed: below what a person notices.
LOOK_MS = 50


async def follow(store: ReadStore, clock: Clock, session_id: str, *, after_seq: int = 0) -> AsyncIterator[Event]:
    """Each event after a place in the timeline, in order; ends once the session is at rest."""
    seq, mark = after_seq, -1
    while True:
        seen = await store.change_mark()
        if seen == mark:
            await clock.sleep_ms(LOOK_MS)
            continue
        mark = seen
        standing = await store.standing(session_id)
        while events := await store.events_after(session_id, seq):
            for event in events:
                yield event
            seq = events[-1].seq
        if standing.at_rest:
            return
