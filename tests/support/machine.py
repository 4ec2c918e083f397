"""A machine whose processes are only played: worker processes that can be killed, commands that outlive them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from nonoka.ports.processes import CommandResult, OnHeld
from nonoka.records.task import Liveness, Worker, WorkerKind
from nonoka.records.tool import ProcessGroup

_BOOT, _NAMESPACE = "boot", "pid:[1]"


class Machine:
    """What its kernel knows. ``commands``: the marks of those alive; ``overlaps``: those let go while an
    earlier attempt of the same call was alive.
    """

    def __init__(self) -> None:
        self._last_pid = 100
        self.alive: set[int] = set()
        self.commands: set[str] = set()
        self.overlaps: list[str] = []

    def boot_process(self) -> PlayedProcesses:
        """A new process, as its processes port."""
        self.alive.add(self.next_pid())
        return PlayedProcesses(self, self._last_pid)

    def next_pid(self) -> int:
        """A pid that was never used."""
        self._last_pid += 1
        return self._last_pid

    def let_go(self, mark: str) -> None:
        """A command runs, and leaves a process that ends only when it is ended."""
        key = mark.partition("#")[0]
        self.overlaps += [f"{mark} beside {other}" for other in self.commands if other.startswith(f"{key}#")]
        self.commands.add(mark)


class PlayedProcesses:
    """``ports.processes.Processes`` of one played process."""

    def __init__(self, machine: Machine, pid: int) -> None:
        self._machine = machine
        self.pid = pid

    def kill(self) -> None:
        """The process is gone; what its commands left behind is not."""
        self._machine.alive.discard(self.pid)

    async def start(
        self, command: str, *, cwd: Path, env: Mapping[str, str], mark: str, on_held: OnHeld
    ) -> _PlayedCommand:
        pid = self._machine.next_pid()
        await on_held(
            ProcessGroup(group=pid, started=pid, boot_id=_BOOT, pid_namespace=_NAMESPACE, mark=mark),
        )
        self._machine.let_go(mark)
        return _PlayedCommand(self._machine, mark)

    async def end(self, processes: tuple[ProcessGroup, ...], mark: str) -> int:
        found = {mark, *(group.mark for group in processes)} & self._machine.commands
        self._machine.commands -= found
        return len(found)

    def register(self, worker_id: str, kind: WorkerKind) -> Worker:
        return Worker(
            worker_id=worker_id,
            kind=kind,
            pid=self.pid,
            pid_started=self.pid,
            boot_id=_BOOT,
            pid_namespace=_NAMESPACE,
            uid=1000,
            lock_path=f"/somewhere/{worker_id}.lock",
            lock_inode=self.pid,
            started_at=0,
            seen_at=0,
        )

    def unregister(self, worker: Worker) -> None:
        """There is no lock to let go of."""

    def forget(self, worker: Worker) -> None:
        """There is no lock's file to remove."""

    def liveness(self, worker: Worker) -> Liveness:
        return Liveness.ALIVE if worker.pid in self._machine.alive else Liveness.DEAD

    async def end_owner(self, worker: Worker) -> bool:
        if worker.pid == self.pid:
            return False
        self._machine.alive.discard(worker.pid)
        return True


class _PlayedCommand:
    def __init__(self, machine: Machine, mark: str) -> None:
        self._machine = machine
        self._mark = mark

    async def finished(self, timeout_s: float) -> CommandResult:
        await asyncio.sleep(0)
        self._machine.commands.discard(self._mark)
        return CommandResult(exit_code=0, output=b"built app\n")
