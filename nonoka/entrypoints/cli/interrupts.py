"""Ctrl-C and SIGTERM while a session is worked on here: the first asks, the second leaves at once."""

from __future__ import annotations

import asyncio
import os
import signal
from types import FrameType, TracebackType
from typing import Literal

from nonoka.entrypoints.cli.failures import INTERRUPTED, STDOUT_CLOSED

#: pause it (Ctrl-C), hand it back (SIGTERM), or hand it back because nobody reads our output any more
Reason = Literal["pause", "hand_back", "closed"]

TERMINATED = 143
EXIT: dict[Reason, int] = {"pause": INTERRUPTED, "hand_back": TERMINATED, "closed": STDOUT_CLOSED}


class Interrupts:
    """Use it in ``with``, inside a running loop: what was asked first is the result of ``asked``."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.asked: asyncio.Future[Reason] = self._loop.create_future()

    def __enter__(self) -> Interrupts:
        self._loop.add_signal_handler(signal.SIGINT, self.ask, "pause")
        self._loop.add_signal_handler(signal.SIGTERM, self.ask, "hand_back")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.asked.done():
            self._let_go()
            self.asked.cancel()

    def ask(self, reason: Reason) -> None:
        """Work here is to stop for this reason, unless another came first."""
        if self.asked.done():
            return
        self.asked.set_result(reason)
        self._let_go()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _leave_at_once)

    def _let_go(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.remove_signal_handler(number)


def _leave_at_once(number: int, frame: FrameType | None) -> None:
    # Not through the loop: it may be what hangs. What was held is released by whoever sweeps next.
    os._exit(128 + number)
