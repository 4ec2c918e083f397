"""Runs async tools on an event loop of their own: one that blocks stops no heartbeat. Used by invocation.py.

One loop for all of them, since what they share (a client, a pool of connections) belongs to one; another only
while that one is blocked.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import os
import threading
import weakref
from collections.abc import Callable, Generator

from nonoka.agents.threads import deliverable

#: A loop that has not begun a call after so long is blocked by another: the call begins on a spare one.
BEGINS_S = 1.0


class ToolLoops:
    """The event loops of this process's async tools, each in a daemon thread; made at first use."""

    def __init__(self) -> None:
        self._threads: list[_LoopThread] = []

    def at(self, number: int) -> _LoopThread:
        """The first one, or the spare of that number."""
        while len(self._threads) <= number:
            self._threads.append(_LoopThread())
        return self._threads[number]

    def close(self) -> None:
        """Each of them ends as soon as what blocks it lets it."""
        for thread in self._threads:
            thread.stop()
        self._threads.clear()


class LoopCall:
    """A function, async or returning an awaitable, that runs on a tools' loop; await it for what comes of it.

    Made inside the loop of the one who waits, with the caller's context variables. What isn't an Exception is
    raised as ToolRaised. Cancelling the one who waits changes nothing here: ``stop`` cancels the coroutine.
    """

    def __init__(self, function: Callable[[], object], name: str, thread: _LoopThread) -> None:
        self._function = function
        self._name = name
        self._thread = thread
        self._asker = asyncio.get_running_loop()
        self._outcome: asyncio.Future[object] = self._asker.create_future()
        self._moves = asyncio.Event()
        self._over = asyncio.Event()
        self._alive = True
        self._task: asyncio.Task[None] | None = None
        self._begun = self._withdrawn = self._heard_stop = False
        self._choice = threading.Lock()
        thread.loop.call_soon_threadsafe(self._begin, contextvars.copy_context())

    @property
    def alive(self) -> bool:
        """Whether the coroutine may still be doing something."""
        return self._alive

    @property
    def to_blame(self) -> bool:
        """Whether it is this call that can't be stopped, and not another that blocks the loop they share."""
        return self._heard_stop or asyncio.current_task(self._thread.loop) is self._task

    async def begins(self) -> bool:
        """Wait until it has begun; False if its loop is blocked, and it never will."""
        try:
            async with asyncio.timeout(BEGINS_S):
                await self._moves.wait()
        except TimeoutError:
            return not self._withdraw()
        return True

    def stop(self) -> None:
        """The coroutine is cancelled, as soon as its loop moves."""
        if not self._withdraw():
            self._thread.loop.call_soon_threadsafe(self._cancel)

    async def ended(self, timeout_s: float) -> bool:
        """Wait up to that long for it to return or raise; whether it did."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._over.wait()
        except TimeoutError:
            return not self._alive
        return True

    def __await__(self) -> Generator[object, None, object]:
        return self._outcome.__await__()

    def _withdraw(self) -> bool:
        with self._choice:
            if self._begun:
                return False
            self._withdrawn, self._alive = True, False
        self._over.set()
        return True

    def _begin(self, context: contextvars.Context) -> None:
        with self._choice:
            if self._withdrawn:
                return
            self._begun = True
        self._tell(self._moves.set)
        self._task = self._thread.loop.create_task(self._work(), name=self._name, context=context)

    def _cancel(self) -> None:
        self._heard_stop = True
        if self._task is not None:
            self._task.cancel()

    async def _work(self) -> None:
        value: object = None
        raised: Exception | None = None
        try:
            value = self._function()
            if inspect.isawaitable(value):
                value = await value
        except BaseException as error:  # noqa: BLE001 — delivered to the one who waits; the loop is not this tool's to end
            raised = deliverable(error)
        self._alive = False
        self._tell(functools.partial(self._deliver, value, raised))

    def _tell(self, news: Callable[[], object]) -> None:
        # Where that loop is closed nobody waits any more.
        with contextlib.suppress(RuntimeError):
            self._asker.call_soon_threadsafe(news)

    def _deliver(self, value: object, raised: Exception | None) -> None:
        self._over.set()
        if self._outcome.done():
            return
        if raised is None:
            self._outcome.set_result(value)
        else:
            self._outcome.set_exception(raised)


class _LoopThread:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="tools' event loop", daemon=True)
        self._thread.start()
        _living.add(self)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            if left:
                self.loop.run_until_complete(asyncio.wait(left, timeout=BEGINS_S))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        finally:
            self.loop.close()

    def leave_forked(self) -> None:
        """In a forked child: if a tool on this loop forked, the child ends once that tool returns or awaits."""
        if threading.get_ident() == self._thread.ident:
            # A copy of the loop going on would share its selector with the worker, and steal its wake-ups.
            self.loop.call_soon(os._exit, 0)


_living: weakref.WeakSet[_LoopThread] = weakref.WeakSet()


def _leave_forked() -> None:
    for thread in tuple(_living):
        thread.leave_forked()


os.register_at_fork(after_in_child=_leave_forked)
