"""The processes of a test: real commands, and workers of this process that can be dead to the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nonoka.ports.processes import OnHeld, Processes, RunningCommand
from nonoka.records.task import Liveness, Worker, WorkerKind
from nonoka.records.tool import ProcessGroup


class MortalProcesses:
    """``ports.processes.Processes`` of one played process in this real one."""

    def __init__(self, inner: Processes) -> None:
        self._inner = inner
        self._registered: list[Worker] = []

    def die(self) -> None:
        """The locks of its workers are free and their files still there, as after the end of a process."""
        for worker in self._registered:
            lock = Path(worker.lock_path)
            aside = lock.with_suffix(".dead")
            lock.rename(aside)  # unregistering removes it
            self._inner.unregister(worker)
            aside.rename(lock)

    async def start(
        self, command: str, *, cwd: Path, env: Mapping[str, str], mark: str, on_held: OnHeld
    ) -> RunningCommand:
        return await self._inner.start(command, cwd=cwd, env=env, mark=mark, on_held=on_held)

    async def end(self, processes: tuple[ProcessGroup, ...], mark: str) -> int:
        return await self._inner.end(processes, mark)

    def register(self, worker_id: str, kind: WorkerKind) -> Worker:
        worker = self._inner.register(worker_id, kind)
        self._registered.append(worker)
        return worker

    def unregister(self, worker: Worker) -> None:
        self._registered.remove(worker)
        self._inner.unregister(worker)

    def forget(self, worker: Worker) -> None:
        self._inner.forget(worker)

    def liveness(self, worker: Worker) -> Liveness:
        return self._inner.liveness(worker)

    async def end_owner(self, worker: Worker) -> bool:
        return await self._inner.end_owner(worker)
