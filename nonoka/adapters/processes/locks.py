"""The locks by which others see that the workers of this process live."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from nonoka.adapters.processes import procfs
from nonoka.adapters.processes.forks import close_private, private_descriptors
from nonoka.errors import NonokaError
from nonoka.ports.clock import Clock
from nonoka.records.task import Worker, WorkerKind


class WorkerLocks:
    """The locks that this process holds: ``flock``, since closing any copy of a file drops a ``lockf``."""

    def __init__(self, workers_dir: Path, clock: Clock) -> None:
        self._dir = workers_dir.absolute()
        self._clock = clock
        self._held: dict[str, int] = {}

    def register(self, worker_id: str, kind: WorkerKind) -> Worker:
        """A new worker of this process is locked until ``unregister``, or until the process ends.

        Call it in the process that works: forked children don't keep the lock. NonokaError if the id was
        used before.
        """
        self._dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._dir / f"{worker_id}.lock"
        fd = _create_locked(path)
        self._held[worker_id] = fd
        now = self._clock.now_ms()
        return Worker(
            worker_id=worker_id,
            kind=kind,
            pid=os.getpid(),
            pid_started=_own_start(),
            boot_id=procfs.boot_id(),
            pid_namespace=procfs.pid_namespace(),
            uid=os.getuid(),
            lock_path=str(path),
            lock_inode=os.fstat(fd).st_ino,
            started_at=now,
            seen_at=now,
        )

    def unregister(self, worker: Worker) -> None:
        """The lock is free and its file gone; nothing happens where this process doesn't hold it."""
        if worker.pid != os.getpid() or worker.worker_id not in self._held:
            return
        self.forget(worker)
        close_private(self._held.pop(worker.worker_id))

    def forget(self, worker: Worker) -> None:
        """The worker's lock file is gone, if it is one of this store's and still the same file."""
        if Path(worker.lock_path).parent != self._dir:
            return
        with contextlib.suppress(OSError):
            if os.stat(worker.lock_path).st_ino == worker.lock_inode:
                os.unlink(worker.lock_path)


def _create_locked(path: Path) -> int:
    with private_descriptors() as private:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise NonokaError(f"worker {path.stem!r} has a lock file already ({path}); take a fresh id") from None
        private.add(fd)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return fd


def _own_start() -> int:
    own = procfs.process(os.getpid())
    if own is None:
        raise NonokaError("this process isn't in /proc; mount the /proc of this container's pid namespace")
    return own.started
