"""How long each part of a request may take. The HTTP adapters ask before each wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Timeouts:
    """How long each part of a request may take, in seconds.

    The first event waits for the whole prompt to be read, which takes a model on a small machine minutes.
    """

    connect_s: float = 10
    first_event_s: float = 300
    chunk_s: float = 120
    whole_s: float = 600


class Patience:
    """How long one request still may wait. Only the whole counts the time that the listener takes."""

    def __init__(self, timeouts: Timeouts, timeout_ms: int | None) -> None:
        self._timeouts = timeouts
        self._whole_s = timeouts.whole_s if timeout_ms is None else min(timeouts.whole_s, timeout_ms / 1000)
        self._ends_at = asyncio.get_running_loop().time() + self._whole_s

    def first_event(self) -> AbstractAsyncContextManager[None]:
        """A wait for the answer to begin; TimeoutError says what did not come."""
        return self._at_most(self._timeouts.first_event_s, "no answer began")

    def next_event(self) -> AbstractAsyncContextManager[None]:
        """A wait for the answer to go on; TimeoutError says what did not come."""
        return self._at_most(self._timeouts.chunk_s, "the answer stopped: nothing more came")

    @asynccontextmanager
    async def _at_most(self, limit_s: float, what: str) -> AsyncIterator[None]:
        left_s = self._ends_at - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(min(limit_s, left_s)):
                yield
        except TimeoutError as error:
            if left_s < limit_s:
                raise TimeoutError(f"no whole answer within {self._whole_s:g} s") from error
            raise TimeoutError(f"{what} within {limit_s:g} s") from error
