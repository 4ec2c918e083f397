"""What a worker process needs of its queue: the in-process one (feeder.py) or Redis (sender.py)."""

from __future__ import annotations

from typing import Protocol

import dramatiq
from dramatiq.middleware import Middleware

from nonoka.engine.ports import Ports
from nonoka.engine.task import TaskRunner
from nonoka.ports.broker import Broker


class Feed(Protocol):
    """Sees to it that what is due in the store is run."""

    async def feed_forever(self) -> None:
        """Until cancelled."""

    async def deaths_of(self, task_id: str) -> int:
        """How many workers this task has cost; asked once for each message, before it is claimed."""

    async def thread_freed(self) -> None:
        """A message was run or dropped."""


class Queue(Protocol):
    """One process's side of the queue."""

    #: the broker port for what this process sends; None leaves it to the settings
    port: Broker | None

    def make_broker(self, middleware: list[Middleware]) -> dramatiq.Broker:
        """Dramatiq's side of it; made once."""

    async def open(self, ports: Ports, worker: dramatiq.Worker) -> None:
        """Ready for this worker, which is about to start. Raises UsageError where it can't be used."""

    def feed(self, ports: Ports, tasks: TaskRunner) -> Feed:
        """What feeds the worker; asked once it is open."""

    def drain(self) -> None:
        """Nothing more is fetched; the worker ends."""

    def pulse(self) -> int | None:
        """A number that changes as long as messages could come; None where nothing can stand still."""
