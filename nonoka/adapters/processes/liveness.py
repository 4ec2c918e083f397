"""What can be told of another worker from here, and the end of one that is frozen."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal

from nonoka.adapters.processes import procfs
from nonoka.adapters.processes.kill import send_signal
from nonoka.records.task import Liveness, Worker

#: a process that isn't gone so long after SIGKILL hangs in the kernel
BOUND_S = 5.0
_PAUSE_S = 0.005


def liveness(worker: Worker) -> Liveness:
    """Whether that worker's process lives: by its pid and start time, then by its lock.

    A process that is gone is dead even if its lock is held, by a child that it forked. A missing or
    recreated lock file says nothing; of another container UNKNOWN is then all that can be said.
    """
    if worker.boot_id != procfs.boot_id():
        return Liveness.DEAD
    by_process = _by_process(worker)
    if by_process is Liveness.DEAD:
        return by_process
    by_lock = _by_lock(worker)
    return by_process if by_lock is Liveness.UNKNOWN else by_lock


async def end_owner(worker: Worker) -> bool:
    """That worker's process is gone; False if it can't be ended from here.

    It can't be from another container, as another user, if it is this very process, or if it hangs in the
    kernel for 5 s. What its calls started is ended by their groups and marks.
    """
    if worker.boot_id != procfs.boot_id():
        return True
    if (before := _by_process(worker)) is not Liveness.ALIVE:
        return before is Liveness.DEAD
    if worker.pid == os.getpid():
        return False
    try:
        send_signal(worker.pid, worker.pid_started, signal.SIGKILL)
    except PermissionError:
        return False
    return await _is_gone(worker)


async def _is_gone(worker: Worker) -> bool:
    try:
        async with asyncio.timeout(BOUND_S):
            while _by_process(worker) is not Liveness.DEAD:  # noqa: ASYNC110 - nobody signals another's end
                await asyncio.sleep(_PAUSE_S)
    except TimeoutError:
        return False
    return True


def _by_process(worker: Worker) -> Liveness:
    if worker.pid_namespace != procfs.pid_namespace():
        return Liveness.UNKNOWN
    found = procfs.process(worker.pid)
    if found is not None:
        same = found.living and found.started == worker.pid_started
        return Liveness.ALIVE if same else Liveness.DEAD
    # Where /proc hides other users' processes (hidepid) only the signal tells "hidden" from "gone".
    try:
        os.kill(worker.pid, 0)
    except ProcessLookupError:
        return Liveness.DEAD
    except PermissionError:
        pass
    return Liveness.UNKNOWN


def _by_lock(worker: Worker) -> Liveness:
    # Never created by who asks: a file made anew would read as free while its worker lives.
    try:
        fd = os.open(worker.lock_path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return Liveness.UNKNOWN
    try:
        if os.fstat(fd).st_ino != worker.lock_inode:
            return Liveness.UNKNOWN
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return Liveness.ALIVE
    except OSError:  # a file system without locks
        return Liveness.UNKNOWN
    finally:
        os.close(fd)
    return Liveness.DEAD
