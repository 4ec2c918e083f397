"""A task that has cost workers their lives runs alone in its process, so that it takes nobody with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Solitude:
    """Many tasks side by side, or one that wants to be alone."""

    def __init__(self) -> None:
        self._company = 0
        self._alone = False
        self._queue = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def room(self, *, alone: bool) -> AsyncIterator[None]:
        """A place to run in; with ``alone`` nobody else runs in this process meanwhile."""
        async with self._changed:
            if alone:
                self._queue += 1
                try:
                    await self._changed.wait_for(lambda: not self._company and not self._alone)
                finally:
                    self._queue -= 1
                    self._changed.notify_all()
                self._alone = True
            else:
                await self._changed.wait_for(lambda: not self._alone and not self._queue)
                self._company += 1
        try:
            yield
        finally:
            async with self._changed:
                if alone:
                    self._alone = False
                else:
                    self._company -= 1
                self._changed.notify_all()
