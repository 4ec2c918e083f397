"""What /proc tells: boot, pid namespace, and each process's group, start time and mark.

Everything in this package identifies a process by pid and start time together, since pids are reused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

#: the environment variable that everything a call starts carries
MARK = "NONOKA_CALL"


@dataclass(frozen=True, slots=True)
class Process:
    """A process as /proc/PID/stat shows it, named by its pid and ``started``, in kernel ticks since boot.

    ``living`` is False for a zombie: it has ended, only its exit status is still to be read.
    """

    pid: int
    started: int
    living: bool = field(compare=False)
    group: int = field(compare=False)
    session: int = field(compare=False)


def boot_id() -> str:
    """The id of this boot; containers share it with their host."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def pid_namespace() -> str:
    """The name of the namespace in which this process's pids are numbered."""
    return os.readlink("/proc/self/ns/pid")


def process(pid: int) -> Process | None:
    """The process with this pid, zombies included; None if there is none, or it is hidden from us."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return _parse_stat(file.read())
    except (FileNotFoundError, ProcessLookupError):
        return None


def processes() -> Iterator[Process]:
    """Each process of this namespace that we may see, zombies included."""
    for name in os.listdir("/proc"):
        if name.isdigit() and (found := process(int(name))) is not None:
            yield found


def carries(pid: int, mark: str) -> bool:
    """Whether the process was started with exactly this mark.

    False as well where its environment can't be read (another user's, setuid) or was overwritten.
    """
    return f"\0{MARK}={mark}\0".encode() in _environment(pid)


def carries_prefix(pid: int, prefix: str) -> bool:
    """Whether the process was started with a mark that begins like this; as weak as ``carries``."""
    return f"\0{MARK}={prefix}".encode() in _environment(pid)


def _environment(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return b"\0" + file.read() + b"\0"
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def _parse_stat(stat: bytes) -> Process:
    """Read proc(5)'s fields; the second, the name, is the program's choice and may hold ``) (``."""
    pid, _, rest = stat.partition(b" (")
    fields = rest[rest.rindex(b")") + 2 :].split()
    state, group, session, threads, started = fields[0], fields[2], fields[3], fields[17], fields[19]
    # A process whose first thread has ended shows as a zombie while its other threads work on.
    living = state not in (b"Z", b"X") or int(threads) > 1
    return Process(int(pid), int(started), living, int(group), int(session))
