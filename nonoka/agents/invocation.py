"""One run of a tool's function, async or sync. Made by Tool.invoke, awaited by the engine."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Generator

from nonoka.agents.raised import ToolRaised
from nonoka.agents.threads import ThreadCall


class Invocation:
    """Await it once for what the function returns or raises; nothing runs before that.

    A sync function runs in a thread, which a cancel of the one who waits can't stop: until ``alive`` is
    False it may still change things. Raises ToolRaised for what isn't an Exception.
    """

    def __init__(self, function: Callable[[], object], *, is_async: bool, name: str) -> None:
        self._function = function
        self._is_async = is_async
        self._name = name
        self._thread: ThreadCall | None = None

    @property
    def alive(self) -> bool:
        """Whether a thread of it may still be doing something."""
        return self._thread is not None and self._thread.alive

    async def ended(self, timeout_s: float) -> bool:
        """Wait up to that long until no thread of it lives; whether that is so."""
        return self._thread is None or await self._thread.ended(timeout_s)

    def __await__(self) -> Generator[object, None, object]:
        return self._run().__await__()

    async def _run(self) -> object:
        try:
            if self._is_async:
                value = self._function()
            else:
                self._thread = ThreadCall(self._function, f"tool {self._name}")
                value = await self._thread
            # a plain function around an async one returns its coroutine
            return await value if inspect.isawaitable(value) else value
        except (Exception, GeneratorExit):
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise ToolRaised(error) from error
        except BaseException as error:
            raise ToolRaised(error) from error
