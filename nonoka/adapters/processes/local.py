"""The processes port on this machine; app makes one per store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nonoka.adapters.processes.commands import LocalCommand, start_command
from nonoka.adapters.processes.custody import Custody
from nonoka.adapters.processes.liveness import end_owner, liveness
from nonoka.adapters.processes.locks import WorkerLocks
from nonoka.ports.clock import Clock
from nonoka.ports.processes import OnHeld
from nonoka.records.task import Liveness, Worker, WorkerKind
from nonoka.records.tool import ProcessGroup


class LocalProcesses:
    """Commands and workers of one Linux machine. Used from any event loop, in any thread."""

    def __init__(self, workers_dir: Path, clock: Clock) -> None:
        self._custody = Custody()
        self._locks = WorkerLocks(workers_dir, clock)

    async def start(
        self, command: str, *, cwd: Path, env: Mapping[str, str], mark: str, on_held: OnHeld
    ) -> LocalCommand:
        """The command runs in bash, or sh where there is none, after ``on_held`` has returned.

        If this process dies, or ``on_held`` raises, before that, the command never runs. Its environment
        is ``env`` and the mark, its input empty. Commands that run at one time need marks of their own:
        the end of one ends what carries its mark. OSError if it can't be started, ToolFailure if it is
        too long.
        """
        return await start_command(command, cwd=cwd, env=env, mark=mark, on_held=on_held, custody=self._custody)

    async def end(self, processes: tuple[ProcessGroup, ...], mark: str) -> int:
        """Nothing lives of these groups, nor of what carries the mark; returns how many were ended.

        NonokaError, naming them, if some still live 5 s after SIGKILL or are in another container.
        """
        return await self._custody.end(processes, mark)

    def register(self, worker_id: str, kind: WorkerKind) -> Worker:
        """A new worker of this process is locked; NonokaError if the id was used before."""
        return self._locks.register(worker_id, kind)

    def unregister(self, worker: Worker) -> None:
        """The worker's lock is free and its file gone."""
        self._locks.unregister(worker)

    def forget(self, worker: Worker) -> None:
        """The lock file that a dead worker of this store left behind is gone."""
        self._locks.forget(worker)

    def liveness(self, worker: Worker) -> Liveness:
        """Whether that worker's process lives."""
        return liveness(worker)

    async def end_owner(self, worker: Worker) -> bool:
        """That worker's process is gone; False if it can't be ended from here, as this process can't."""
        return await end_owner(worker)
