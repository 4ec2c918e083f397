"""What a worker runs: a task, the claim on it, and the worker itself."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from nonoka.records.base import Record


class TaskStatus(StrEnum):
    """Where a task stands, who moves it on, and what a crash there means."""

    #: may be claimed once ``not_before`` has passed; a lost message changes nothing, it is sent again
    READY = "ready"
    #: claimed under ``fence`` until ``lease_expires_at``; if its worker dies, the sweeper releases it
    RUNNING = "running"
    #: ``waits_for`` names what makes it ready
    WAITING = "waiting"
    DONE = "done"
    #: given up, kept with its reason in the session's termination
    DEAD = "dead"


class Task(Record):
    """A row of ``tasks``.

    ``attempt`` counts claims, ``retries`` failures that may pass, ``deaths`` claims released because their
    worker died. ``not_before`` and ``sent_at`` are ms UTC; ``lease_expires_at`` is ms on the kernel's
    monotonic clock of the owner's boot.
    """

    task_id: str
    session_id: str
    kind: Literal["turn", "step"]
    key: str
    status: TaskStatus
    waits_for: str | None = None
    not_before: int = 0
    attempt: int = 0
    retries: int = 0
    deaths: int = 0
    fence: int = 0
    lease_owner: str | None = None
    lease_expires_at: int | None = None
    sent_at: int | None = None
    sends: int = 0

    @property
    def turn(self) -> int:
        """The number in a turn's key (``turn:12``)."""
        return int(self.key.removeprefix("turn:"))


def turn_key(number: int) -> str:
    """The key of a turn's task."""
    return f"turn:{number}"


def kind_of(key: str) -> Literal["turn", "step"]:
    """What a task of this key runs."""
    return "step" if key.startswith("step:") else "turn"


def task_id_of(session_id: str, key: str) -> str:
    """The id of a task: its session and its key, which is unique there."""
    return f"{session_id}/{key}"


def key_of_task(task_id: str) -> str:
    """The key of a task, from its id."""
    return task_id.partition("/")[2]


def session_of(task_id: str) -> str:
    """The session of a task, from its id."""
    return task_id.partition("/")[0]


#: what a task waits for that needs its workspace while another session may change it
WORKSPACE = "workspace"


def session_end(session_id: str) -> str:
    """What a task waits for that goes on once that session has ended."""
    return f"session:{session_id}"


#: what a process is that claims tasks; "embedded" is a Runner inside somebody's program, which nobody ends
WorkerKind = Literal["worker", "run", "sweep", "embedded"]


class Worker(Record):
    """A process that claims tasks. It lives while the lock on its file is held.

    ``pid_started`` is the process's start time in kernel ticks since boot (/proc/PID/stat, field 22).
    """

    worker_id: str
    kind: WorkerKind
    pid: int
    pid_started: int
    boot_id: str
    pid_namespace: str
    uid: int
    lock_path: str
    lock_inode: int
    started_at: int
    seen_at: int


class Liveness(StrEnum):
    """What can be said about a worker from outside."""

    ALIVE = "alive"
    DEAD = "dead"
    #: can't be told from here; only its lease decides
    UNKNOWN = "unknown"
