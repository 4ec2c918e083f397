"""Processes: the commands that calls start, and the workers themselves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Protocol

from nonoka.records.base import Record
from nonoka.records.task import Liveness, Worker, WorkerKind
from nonoka.records.tool import ProcessGroup


class CommandResult(Record):
    """How a command ended. ``output`` is stdout and stderr as they came, raw bytes capped in memory.

    ``exit_code`` is negative for a signal (-9), None if it was ended for its time. ``dropped_bytes`` is
    how much of the middle of the output was let go beyond the cap.
    """

    exit_code: int | None
    output: bytes
    dropped_bytes: int = 0


class RunningCommand(Protocol):
    """A command that was started held and let go."""

    async def finished(self, timeout_s: float) -> CommandResult:
        """Wait until its shell exits, then end what is left of its group. Cancelling ends it as well."""


OnHeld = Callable[[ProcessGroup], Awaitable[None]]


class Processes(Protocol):
    """What this machine's kernel knows."""

    async def start(
        self, command: str, *, cwd: Path, env: Mapping[str, str], mark: str, on_held: OnHeld
    ) -> RunningCommand:
        """Start a shell command held (it has done nothing yet), await ``on_held``, then let it go.

        If this process dies, or ``on_held`` raises, before that, the command never runs.
        """

    async def end(self, processes: tuple[ProcessGroup, ...], mark: str) -> int:
        """End these groups and all that carries the mark; returns how many processes were ended.

        Returns when none of them lives. Groups of another boot are over already.
        """

    def register(self, worker_id: str, kind: WorkerKind) -> Worker:
        """Take the exclusive lock of a new worker in this process; it is held until the process ends."""

    def unregister(self, worker: Worker) -> None:
        """Let the lock go and remove its file."""

    def forget(self, worker: Worker) -> None:
        """The lock file that a dead worker of this store left behind is gone."""

    def liveness(self, worker: Worker) -> Liveness:
        """Whether that worker's process lives."""

    async def end_owner(self, worker: Worker) -> bool:
        """End a frozen worker's process, not what it started; False if it can't be ended from here."""
