"""A session's state: an immutable snapshot, assembled from the store's tables."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from nonoka.records.base import JsonObject, Record
from nonoka.records.memory import MemoryEntry
from nonoka.records.runtime import CompletionContract, SessionRuntimeState
from nonoka.records.workspace import Worktree

SCHEMA_VERSION = 1


class SessionStatus(StrEnum):
    """Where a session stands, who moves it on, and what a crash there means."""

    #: stored with its prompt and first task; the first claim makes it running; a crash changes nothing
    CREATED = "created"
    #: has a task that is ready, running or waiting; a lost claim is released by the sweeper
    RUNNING = "running"
    #: waits for a person: it has no task; a resume signal gives it one
    PAUSED = "paused"
    #: its last run was answered; a message starts another run
    COMPLETED = "completed"
    #: its last run ended with an error; a retry takes that run up again, a message starts another
    FAILED = "failed"
    #: ended by a person; its calls never run again; a message starts another run
    CANCELLED = "cancelled"


class StepStatus(StrEnum):
    """Where a step (of a plan, or a tool call) stands."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class StepResult(Record):
    """A step's recorded result; it is recorded once within a plan run."""

    step_id: str
    attempt: int
    payload: JsonObject = {}


class StepFailure(Record):
    """Why a step failed. ``traceback`` is for the one who wrote the tool; it may be empty."""

    error_type: str
    message: str
    traceback: str = ""


class SessionState(Record):
    """The whole of a session at one version.

    In the checkpoint's row it is kept without ``memory_entries`` and without the three step maps, which
    have tables of their own; ``load_session`` puts them together. Times are ms UTC.
    """

    schema_version: Literal[1] = 1
    session_id: str
    status: SessionStatus = SessionStatus.CREATED
    current_plan: JsonObject | None = None
    step_statuses: dict[str, StepStatus] = {}
    completed_steps: dict[str, StepResult] = {}
    failed_steps: dict[str, StepFailure] = {}
    memory_entries: tuple[MemoryEntry, ...] = ()
    runtime_state: SessionRuntimeState = SessionRuntimeState()
    completion_contract: CompletionContract = CompletionContract()
    extension_state: JsonObject = {}
    start_time: int
    end_time: int | None = None
    turn_count: int = 0
    step_count: int = 0


class SessionIndex(Record):
    """The row people look at in a list: what a session is, not how far it got.

    ``metadata`` may hold ``enqueue_key``, which no two sessions of a store share, and ``worktree``: the
    ``repository`` whose working tree of its own ``working_dir`` is, and its ``branch`` there.
    """

    session_id: str
    kind: Literal["react", "plan"] = "react"
    title: str
    working_dir: str
    agent: str
    model: str
    created_at: int
    last_active: int
    parent: str | None = None
    metadata: JsonObject = {}

    @property
    def worktree(self) -> Worktree | None:
        """The working tree that was made for the session, if it has one of its own."""
        found = self.metadata.get("worktree")
        return None if found is None else Worktree.model_validate(found)

    @property
    def step(self) -> str | None:
        """The step of the parent's plan that the session was made for."""
        found = self.metadata.get("step")
        return found if isinstance(found, str) else None

    @property
    def enqueue_key(self) -> str | None:
        """The key that whoever enqueued the session gave it."""
        found = self.metadata.get("enqueue_key")
        return found if isinstance(found, str) else None
