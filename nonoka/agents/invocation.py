"""One run of a tool's function, async or sync. Made by Tool.invoke, awaited by the engine."""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Callable, Generator

from nonoka.agents.coroutines import LoopCall, ToolLoops
from nonoka.agents.raised import ToolRaised
from nonoka.agents.threads import ThreadCall


class Invocation:
    """Await it once for what the function returns or raises; nothing runs before that, or before ``begin``.

    A sync function runs in a thread, an async one on a loop of ``loops``, or without them on the caller's. Where
    it runs elsewhere, a cancel of the one who waits may not stop it: until ``ended`` it may still change things.
    Raises ToolRaised for what isn't an Exception.
    """

    def __init__(
        self, function: Callable[[], object], *, is_async: bool, name: str, loops: ToolLoops | None = None
    ) -> None:
        self._function = function
        self._is_async = is_async
        self._name = name
        self._loops = loops
        self._call: ThreadCall | LoopCall | None = None

    @property
    def alive(self) -> bool:
        """Whether something of it may still be going on."""
        return self._call is not None and self._call.alive

    @property
    def to_blame(self) -> bool:
        """Whether it is this one that goes on after its end, and not one that it shares a loop with."""
        return not isinstance(self._call, LoopCall) or self._call.to_blame

    async def ended(self, timeout_s: float) -> bool:
        """Wait up to that long until nothing of it goes on; whether that is so."""
        return self._call is None or await self._call.ended(timeout_s)

    async def begin(self) -> None:
        """It runs, unless it is one for the caller's own loop; its time counts from here."""
        if not self._is_async:
            self._call = ThreadCall(self._function, f"tool {self._name}")
        elif self._loops is not None:
            self._call = await self._on_loop(self._function, self._loops)

    def __await__(self) -> Generator[object, None, object]:
        return self._run().__await__()

    async def _run(self) -> object:
        if self._call is None:
            await self.begin()
        value = await self._outcome()
        # a plain function around an async one returns its coroutine
        if not inspect.isawaitable(value):
            return value
        if self._loops is None:
            return await _here(lambda: value)
        self._call = await self._on_loop(lambda: value, self._loops)
        return await self._outcome()

    async def _outcome(self) -> object:
        if self._call is None:
            return await _here(self._function)
        try:
            return await self._call
        except asyncio.CancelledError:
            if isinstance(self._call, LoopCall):
                self._call.stop()
            raise

    async def _on_loop(self, function: Callable[[], object], loops: ToolLoops) -> LoopCall:
        for number in itertools.count():
            call = LoopCall(function, f"tool {self._name}", loops.at(number))
            try:
                if await call.begins():
                    return call
            except asyncio.CancelledError:
                self._call = call
                call.stop()
                raise
        raise AssertionError("there is always another spare loop")


async def _here(function: Callable[[], object]) -> object:
    mine = asyncio.current_task()
    try:
        value = function()
        return await value if inspect.isawaitable(value) else value
    except Exception:
        raise
    except asyncio.CancelledError as error:
        if mine is None or mine.cancelling():
            raise
        raise ToolRaised(error) from error
    except BaseException as error:
        if isinstance(error, GeneratorExit) and not _runs(mine):
            raise  # this coroutine is being closed
        raise ToolRaised(error) from error


def _runs(task: asyncio.Task[object] | None) -> bool:
    try:
        return task is not None and asyncio.current_task() is task
    except RuntimeError:
        return False
