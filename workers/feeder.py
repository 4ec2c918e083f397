"""Feeds a worker's in-process queue from the store: never more tasks than it has free threads."""

from __future__ import annotations

from collections.abc import Callable

from nonoka.adapters.brokers.in_process import WakeUp
from nonoka.engine.ports import Ports
from nonoka.engine.task import TaskRunner

#: Between two looks into the store while nothing wakes it: how long another process's send goes unnoticed.
LOOK_S = 0.05


class Feeder:
    """Marks due tasks as sent and pushes them, as long as threads are free."""

    def __init__(
        self, ports: Ports, tasks: TaskRunner, wake_up: WakeUp, *, threads: int, push: Callable[[str], None]
    ) -> None:
        self._ports = ports
        self._tasks = tasks
        self._wake_up = wake_up
        self._free = threads
        self._push = push

    async def feed_forever(self) -> None:
        """Push what is due until cancelled."""
        while True:
            due = []
            if self._free > 0:
                skip = sorted(self._tasks.unloadable)
                due = await self._ports.store.mark_due(self._free, agents_to_skip=skip)
            for task in due:
                self._free -= 1
                self._push(task.task_id)
            if not due:
                await self._wake_up.wait(LOOK_S)

    async def thread_freed(self) -> None:
        """A pushed task was run or dropped: there is room for another."""
        self._free += 1
        await self._wake_up.send("")
