"""What a transaction hands to a decision, and what the decision hands back."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, SkipValidation

from nonoka.records.base import Record
from nonoka.records.event import Event, NewEvent
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.session import SessionIndex, SessionState, SessionStatus
from nonoka.records.signal import Signal, SignalKind
from nonoka.records.step_run import NewPlan, PlanChanges, PlanDetail, PlanRows, StepRun
from nonoka.records.step_update import StepUpdate
from nonoka.records.task import Task, TaskStatus, Worker
from nonoka.records.tool import CallState
from nonoka.records.workspace import SnapshotTaken


class SessionView(Record):
    """A session as one transaction finds it, for the task that runs under its own fence.

    ``state`` is without conversation and step maps. ``signals`` are the undrained ones in order.
    ``calls`` are those of the open turn. ``last_role`` is that of the newest entry, and
    ``last_has_calls`` whether it asks for calls. ``next_position`` is beyond all that was ever taken.
    ``workspace_holder`` is the running task that may change this session's workspace, or a directory above or
    below it: another one before this one.
    In a session that runs a plan ``step`` is the row that a step's task is for, and ``plan`` reads the others as
    this transaction finds them.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    now: int
    task: Task
    index: SessionIndex
    state: SessionState
    signals: tuple[Signal, ...] = ()
    calls: tuple[CallState, ...] = ()
    next_position: int = 0
    last_role: MemoryRole | None = None
    last_has_calls: bool = False
    workspace_holder: str | None = None
    step: StepRun | None = None
    plan: Annotated[PlanRows | None, SkipValidation] = Field(default=None, exclude=True, repr=False)

    @property
    def holds_workspace(self) -> bool:
        """Whether the workspace is this task's to change."""
        return self.workspace_holder == self.task.task_id


class TaskOutcome(Record):
    """What becomes of the claimed task in a commit.

    ``keep``: it runs on, its lease renewed. ``done`` and ``dead`` end it. ``ready`` releases it, due at
    ``not_before``; ``waiting`` until ``waits_for`` is there. The counters are the new values; each release
    raises the fence.
    """

    kind: Literal["keep", "done", "dead", "ready", "waiting"] = "keep"
    waits_for: str | None = None
    not_before: int = 0
    retries: int = 0
    deaths: int = 0


class NewSession(Record):
    """What ``create_session`` stores in one transaction, with the first task.

    Its conversation begins with ``prompt``. With ``entries`` it is these instead, and no task is made. A session
    that runs a ``plan`` begins without one; ``runs`` are the rows of the plan's steps.
    """

    index: SessionIndex
    state: SessionState
    prompt: str = ""
    entries: tuple[MemoryEntry, ...] = ()
    events: tuple[NewEvent, ...]
    plan: NewPlan | None = None
    runs: tuple[StepRun, ...] = ()


class NewSignal(Record):
    """A signal before the store has given it its place."""

    kind: SignalKind
    payload: dict[str, str] = {}


class SentSignal(Record):
    """A signal that a commit sends to another session."""

    session_id: str
    signal: NewSignal


class Changes(Record):
    """All that one commit writes, atomically. ``next_key`` names the task that becomes ready with it.

    ``workspace``: the task takes the lock of its workspace, which nobody has, or frees it, which makes the
    task that has waited longest for it ready. ``sent`` are signals to other sessions, ``child`` a session that is
    created with this commit. What waits for a session that ends in it becomes ready.
    ``withdraw_from``: before ``entries`` are added, those from this position on leave the conversation. They
    stay stored, and their positions are never used again.
    """

    state: SessionState | None = None
    withdraw_from: int | None = None
    entries: tuple[MemoryEntry, ...] = ()
    updates: tuple[StepUpdate, ...] = ()
    events: tuple[NewEvent, ...] = ()
    drained: tuple[int, ...] = ()
    task: TaskOutcome = TaskOutcome()
    next_key: str | None = None
    ends_session: bool = False
    workspace: Literal["keep", "take", "free"] = "keep"
    snapshots: tuple[SnapshotTaken, ...] = ()
    plan: PlanChanges | None = None
    sent: tuple[SentSignal, ...] = ()
    child: NewSession | None = None


class Claim(Record):
    """A task taken: only commits under this fence are accepted."""

    task_id: str
    session_id: str
    worker_id: str
    fence: int


class Committed(Record):
    """A commit that was accepted: what it wrote, and the session as it is after it.

    ``next_claim`` is the claim on the next task, where it was asked for and there is one; ``view`` is then
    that task's. ``woken`` are tasks of other sessions that became ready by it.
    """

    claim: Claim
    view: SessionView
    changes: Changes
    next_claim: Claim | None = None
    woken: tuple[str, ...] = ()


class DueTask(Record):
    """A task that was marked as sent, and what a worker must have to run it."""

    task_id: str
    session_id: str
    agent: str
    deaths: int


class LostClaim(Record):
    """A running task and its owner's row (None: it has none), for the sweeper to judge."""

    task: Task
    owner: Worker | None
    owner_leases_run_out: bool


class SessionLine(Record):
    """A line of a list."""

    index: SessionIndex
    status: str


class ReadyTask(Record):
    """A task that may be claimed once its time has come, and why its last attempt failed, if one did."""

    task: Task
    error_type: str | None = None
    message: str | None = None


class Standing(Record):
    """Where a session stands: its status, and its tasks that are ready, running or waiting."""

    status: SessionStatus
    live_tasks: tuple[Task, ...] = ()

    @property
    def at_rest(self) -> bool:
        """Nothing will happen to it by itself: of a paused one no task but those that wait for another session."""
        paused = self.status is SessionStatus.PAUSED
        return all(paused and task.status is TaskStatus.WAITING for task in self.live_tasks)


class SessionDetail(Record):
    """Everything about one session, read in one transaction."""

    index: SessionIndex
    state: SessionState
    tasks: tuple[Task, ...]
    calls: tuple[CallState, ...]
    updates: tuple[StepUpdate, ...]
    events: tuple[Event, ...]
    signals: tuple[Signal, ...]
    plan: PlanDetail | None = None
