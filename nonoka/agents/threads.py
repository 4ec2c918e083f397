"""Runs a sync tool's function in a thread of its own. Used by invocation.py.

A thread each, and daemon: a stuck tool neither exhausts a pool nor keeps the process alive at its exit.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable, Generator

from nonoka.agents.raised import ToolRaised


class ThreadCall:
    """A function that runs in a thread; await it for its value or what it raised.

    Started when made, inside a running loop, with the caller's context variables. What isn't an Exception
    (SystemExit, …) is raised as ToolRaised. Cancelling the one who waits leaves the thread running: ask
    ``alive``, or wait with ``ended``.
    """

    def __init__(self, function: Callable[[], object], name: str) -> None:
        self._function = function
        self._loop = asyncio.get_running_loop()
        self._outcome: asyncio.Future[object] = self._loop.create_future()
        self._over = asyncio.Event()
        self._alive = True
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(self._work,), name=name, daemon=True)
        thread.start()

    @property
    def alive(self) -> bool:
        """Whether the function may still be doing something."""
        return self._alive

    async def ended(self, timeout_s: float) -> bool:
        """Wait up to that long for the function to return or raise; whether it did."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._over.wait()
        except TimeoutError:
            return not self._alive
        return True

    def __await__(self) -> Generator[object, None, object]:
        return self._outcome.__await__()

    def _work(self) -> None:
        value: object = None
        raised: BaseException | None = None
        process = os.getpid()
        try:
            value = self._function()
        except BaseException as error:  # noqa: BLE001 — delivered to the one who waits; it must not end the thread unseen
            raised = deliverable(error)
        if os.getpid() != process:
            os._exit(0)  # the tool forked, and this is the child: nothing of the worker is its to go on with
        self._alive = False
        try:
            self._loop.call_soon_threadsafe(self._deliver, value, raised)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    def _deliver(self, value: object, raised: BaseException | None) -> None:
        self._over.set()
        if self._outcome.done():
            return
        if raised is None:
            self._outcome.set_result(value)
        else:
            self._outcome.set_exception(raised)


def deliverable(error: BaseException) -> Exception:
    """What a future and a task take as an exception like any other."""
    # a future refuses StopIteration, and a task lets SystemExit through to the loop
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return ToolRaised(error)
