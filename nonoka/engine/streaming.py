"""A model's text on its way into the timeline, in pieces that a reader can follow."""

from __future__ import annotations

from nonoka.decisions.draft import Draft
from nonoka.engine.deciding import deciding
from nonoka.ports.clock import Clock
from nonoka.ports.store import Store
from nonoka.records.commit import Claim
from nonoka.records.event import EventType

#: A piece is committed once this much time has passed since the last: what follows a screen comfortably.
PIECE_MS = 200


class TextStream:
    """Collects text and commits it piece by piece. What is left at the end stands in the answer itself."""

    def __init__(self, store: Store, clock: Clock, claim: Claim, *, turn: int, attempt: int) -> None:
        self._store = store
        self._clock = clock
        self._claim = claim
        self._turn = turn
        self._attempt = attempt
        self._pending = ""
        self._last = clock.monotonic_ms()

    async def hear(self, text: str) -> None:
        """More text came. Raises ClaimLost: nobody needs the rest then."""
        self._pending += text
        now = self._clock.monotonic_ms()
        if self._pending and now - self._last >= PIECE_MS:
            piece, self._pending, self._last = self._pending, "", now
            await self._store.commit(self._claim, deciding(_tell, self._turn, self._attempt, piece))


def _tell(draft: Draft, turn: int, attempt: int, text: str) -> None:
    draft.tell(EventType.TEXT_STREAMED, turn=turn, attempt=attempt, text=text)
