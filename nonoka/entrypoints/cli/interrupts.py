"""Ctrl-C, SIGTERM and SIGHUP while a session is worked on here: the first asks, the second leaves at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from types import FrameType, TracebackType
from typing import Any, Literal

from nonoka.entrypoints.cli.failures import INTERRUPTED, STDOUT_CLOSED

#: pause it (Ctrl-C), hand it back (SIGTERM), or hand it back because nobody reads our output any more
Reason = Literal["pause", "hand_back", "closed"]

TERMINATED = 143
EXIT: dict[Reason, int] = {"pause": INTERRUPTED, "hand_back": TERMINATED, "closed": STDOUT_CLOSED}


#: A closed terminal (SIGHUP) is nobody's wish to pause: the work goes on elsewhere.
_ASKS: dict[signal.Signals, Reason] = {
    signal.SIGINT: "pause",
    signal.SIGTERM: "hand_back",
    signal.SIGHUP: "hand_back",
}


class Interrupts:
    """Use it in ``with``, inside a running loop: what was asked first is the result of ``asked``."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._before: dict[signal.Signals, Any] = {}
        self._signalled = False
        #: The session that is worked on, as long as nothing was said of how it was left.
        self.at_work_on: str | None = None
        self.asked: asyncio.Future[Reason] = self._loop.create_future()

    def __enter__(self) -> Interrupts:
        # Not through the loop: a tool may be blocking it, and the second signal must leave all the same.
        for number in _ASKS:
            if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # by nohup
                self._before[number] = signal.signal(number, self._on_signal)
        # What a tool forks would take its own SIGTERM for ours, and not end.
        os.register_at_fork(after_in_child=self._put_back)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.asked.done():
            self._put_back()
            self.asked.cancel()

    def ask(self, reason: Reason) -> None:
        """Work here is to stop for this reason, unless another came first. In the loop's own thread."""
        if not self.asked.done():
            self.asked.set_result(reason)

    def _put_back(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._signalled:
            # What was held is released by whoever sweeps next.
            if self.at_work_on is not None:
                with contextlib.suppress(OSError):
                    os.write(2, _left_at_once(self.at_work_on).encode())
            os._exit(128 + number)
        self._signalled = True
        self._loop.call_soon_threadsafe(self.ask, _ASKS[signal.Signals(number)])


def _left_at_once(session_id: str) -> str:
    here = f"nonoka sessions resume {session_id} --here"
    return f"\nnonoka: left at once: {session_id} stands as it was; a worker settles it and goes on, or: {here}\n"
