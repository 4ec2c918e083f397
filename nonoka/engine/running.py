"""The tasks that this process runs right now, so that they can be interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from nonoka.records.commit import Claim

#: Why a task is interrupted: this process ends, a person cancelled the session, or the claim is another's.
Reason = Literal["stop", "signal", "lost"]


@dataclass(eq=False, slots=True)
class RunningTask:
    """A claim and the asyncio task that works on it; ``claim`` moves on with the session's turns."""

    claim: Claim
    work: asyncio.Task[Any]
    interrupted: Reason | None = None

    def interrupt(self, reason: Reason) -> None:
        """Stop it where it is. The first reason holds, but for "stop", which is stronger than a signal."""
        if self.interrupted is None or (reason == "stop" and self.interrupted == "signal"):
            self.interrupted = reason
            self.work.cancel(reason)


class Running:
    """Who runs what in this process."""

    def __init__(self) -> None:
        self._tasks: set[RunningTask] = set()
        #: (task id, fence) of what this process holds though no task of it runs: what it has taken over to
        #: settle, and what a thread still works on that only the end of this process stops
        self.withheld: set[tuple[str, int]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[RunningTask]:
        return iter(tuple(self._tasks))

    @contextmanager
    def entered(self, claim: Claim) -> Iterator[RunningTask]:
        """The current asyncio task works on this claim inside the block."""
        current = asyncio.current_task()
        if current is None:
            raise RuntimeError("a task runs only inside an asyncio task")
        running = RunningTask(claim, current)
        self._tasks.add(running)
        try:
            yield running
        finally:
            self._tasks.discard(running)

    def interrupt_all(self) -> None:
        """Everything that runs is to stop where it is and hand back what it holds."""
        for running in self:
            running.interrupt("stop")
