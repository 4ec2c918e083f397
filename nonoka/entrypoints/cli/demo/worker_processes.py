"""The two worker processes: started, known by letter, killed, and ended with all that they had started."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nonoka.engine.ports import Ports
from nonoka.engine.settle import end_processes
from nonoka.entrypoints.cli.demo.scratch import Scratch
from nonoka.errors import NonokaError

#: More would let one worker take all three sessions.
THREADS = 2
#: Between two looks at whether a process has begun or ended.
LOOK_MS = 50
#: Looks until what doesn't end by itself is killed: 8 s.
LOOKS_TO_END = 160
#: Looks after which a worker that doesn't end is asked again: 1 s.
LOOKS_TO_ASK = 20


class WorkerProcesses:
    """Workers A and B. ``letters`` says who is who, by worker id."""

    def __init__(self, scratch: Scratch, ports: Ports) -> None:
        self._scratch, self._ports = scratch, ports
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.letters: dict[str, str] = {}

    def start(self) -> None:
        """Both are being started."""
        for letter in "AB":
            self._running[letter] = self._start()

    def pid(self, letter: str) -> int:
        """The process id of a worker."""
        return self._running[letter].pid

    async def up(self) -> bool:
        """Whether both work on this store."""
        by_pid = {process.pid: letter for letter, process in self._running.items()}
        for worker in await self._ports.store.workers():
            if worker.pid in by_pid:
                self.letters[worker.worker_id] = by_pid[worker.pid]
        return len(self.letters) == len(by_pid)

    def must_live(self) -> None:
        """Raise NonokaError if a worker has ended that nobody killed."""
        for letter, process in self._running.items():
            status = process.poll()
            if status is not None:
                raise NonokaError(f"worker {letter} (pid {process.pid}) ended by itself, with status {status}")

    def kill(self, letter: str) -> int:
        """SIGKILL: the process is gone at once, without a word. Returns its pid."""
        process = self._running.pop(letter)
        process.kill()
        process.wait()
        return process.pid

    async def end(self) -> None:
        """No worker runs any more, nor anything that a call had started."""
        for look in range(LOOKS_TO_END):
            living = [process for process in self._running.values() if process.poll() is None]
            if not living:
                break
            if look % LOOKS_TO_ASK == 0:
                for process in living:
                    process.terminate()
            await self._ports.clock.sleep_ms(LOOK_MS)
        for letter in list(self._running):
            self.kill(letter)
        await self._end_commands()

    async def _end_commands(self) -> None:
        for line in await self._ports.store.list_sessions(limit=10):
            detail = await self._ports.store.detail(line.index.session_id)
            await end_processes(self._ports.processes, detail.index.session_id, detail.calls)

    def _start(self) -> subprocess.Popen[bytes]:
        # As the supervisor of `nonoka worker` starts them, but for the restart: who is killed stays dead.
        command = [sys.executable, "-P", "-m", "workers.process", "--threads", str(THREADS)]
        with self._scratch.log.open("ab") as log:
            return subprocess.Popen(
                [*command, "--parent", str(os.getpid())],
                cwd=self._scratch.directory,
                env=_environment() | {"NONOKA_DB": str(self._scratch.settings.db)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C is ours: we end them.
                process_group=0,
            )


@asynccontextmanager
async def worker_processes(scratch: Scratch, ports: Ports) -> AsyncIterator[WorkerProcesses]:
    """Two workers on this store; they and what they started are ended with the block."""
    workers = WorkerProcesses(scratch, ports)
    try:
        workers.start()
        yield workers
    finally:
        await workers.end()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("NONOKA_")}
