"""Follows a session and shows each event, without ever holding up the event loop that works on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from nonoka.engine.follow import follow
from nonoka.ports.clock import Clock
from nonoka.ports.store import ReadStore
from nonoka.records.event import Event

Show = Callable[[Event], None]


class Reader:
    """Shows a session's events in order.

    They are written in a thread: whoever reads our output may stop doing so for an hour, and the leases of
    what runs here must be renewed meanwhile.
    """

    def __init__(self, store: ReadStore, clock: Clock, session_id: str, show: Show, *, after_seq: int = 0) -> None:
        self._store = store
        self._clock = clock
        self._session_id = session_id
        self._show = show
        self._seq = after_seq
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="timeline")

    async def read(self) -> None:
        """Show what happened and what happens, until the session is at rest. Raises BrokenPipeError."""
        async for event in follow(self._store, self._clock, self._session_id, after_seq=self._seq):
            await self._shown(event)

    async def read_rest(self) -> None:
        """Show what is stored by now and was not shown yet."""
        while events := await self._store.events_after(self._session_id, self._seq):
            for event in events:
                await self._shown(event)

    async def in_turn(self, write: Callable[[], None]) -> None:
        """What else is to be written is, between two events and by the same thread. Raises what it raises."""
        await asyncio.get_running_loop().run_in_executor(self._writer, write)

    async def _shown(self, event: Event) -> None:
        # Counted first: the thread carries it through even if this is cancelled meanwhile.
        self._seq = event.seq
        await asyncio.get_running_loop().run_in_executor(self._writer, self._show, event)
