"""Every error that nonoka raises on purpose; a class exists only where somebody tells it apart.

NonokaError
├── UsageError              what was asked can't be done as asked; the message says what to do (exit status 2)
│   ├── UnknownSession      no session has this id or prefix
│   ├── AmbiguousSession    several sessions have this prefix
│   ├── AgentUnloadable     the agent can't be imported here
│   ├── PlanInvalid         a plan with errors; holds all of them, each with its place
│   └── ExpressionInvalid   a reference or condition that can't be read; says at which character
├── StoreError              the store can't be used (exit status 1)
│   ├── StoreVanished       its file was removed or replaced while it was in use
│   ├── StoreBusy           another process held the write lock for too long
│   ├── StoreFull           its disk has no room, or refuses to write; that may pass
│   ├── StoreDamaged        its file is no sound database any more; that won't pass by itself
│   └── StoreTooNew         written by a newer nonoka
├── WorkspaceError          a snapshot, a rollback or a worktree could not be made; the message says why
│   ├── WorkspaceGone       the workspace is no directory, or none any more
│   └── UnknownSnapshot     no snapshot of this workspace has this id (any more)
├── KeyTaken                a session was enqueued under this key before; not a fault, it is that session
├── WorkerUnfit             this process must end: something in it can't be stopped otherwise
├── ClaimLost               a commit was refused: its claim is no longer the task's
├── ValueMissing            a reference or condition of a plan that the values there are give no answer to
├── ModelFailure            a model request that brought no answer; says whether waiting may help
└── ToolFailure             a tool says why it could not do it; the model is told
"""

from __future__ import annotations

from typing import Literal


class NonokaError(Exception):
    """The root of the tree."""


class UsageError(NonokaError):
    """What was asked can't be done as asked."""


class UnknownSession(UsageError):
    """No session has this id or prefix."""

    def __init__(self, wanted: str) -> None:
        super().__init__(f"no session {wanted!r} in this store; see: nonoka sessions list")


class AmbiguousSession(UsageError):
    """Several sessions have this prefix."""

    def __init__(self, wanted: str, found: list[str]) -> None:
        some = ", ".join(found[:4]) + (", …" if len(found) > 4 else "")
        super().__init__(f"several sessions begin with {wanted!r}: {some}; give more of the id")


class AgentUnloadable(UsageError):
    """The agent can't be imported in this process."""


class PlanInvalid(UsageError):
    """A plan with errors: ``errors`` has all of them, each beginning with its place (``file:line`` or a path)."""

    def __init__(self, errors: list[str]) -> None:
        self.errors = errors
        super().__init__("\n".join(errors))


class ExpressionInvalid(UsageError):
    """A reference or condition that can't be read: ``position`` counts its characters from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} (at character {position + 1})")
        self.position = position


class StoreError(NonokaError):
    """The store can't be used."""


class StoreVanished(StoreError):
    """The store's file was removed or replaced while it was in use; commits would go into the void."""


class StoreBusy(StoreError):
    """Another process held the write lock for too long; nothing was written."""


class StoreFull(StoreError):
    """The store's disk has no room, or refuses to write; nothing was written."""


class StoreDamaged(StoreError):
    """The store's file is no sound database any more."""


class StoreTooNew(StoreError):
    """The store, or a session in it, was written by a newer nonoka."""


class WorkspaceError(NonokaError):
    """A snapshot, a rollback or a worktree could not be made; ``lasting`` where that won't pass by itself."""

    lasting = False


class WorkspaceGone(WorkspaceError):
    """The workspace is no directory."""

    lasting = True

    def __init__(self, workspace: str) -> None:
        super().__init__(f"the workspace {workspace!r} is no directory (any more)")


class UnknownSnapshot(WorkspaceError):
    """No snapshot of this workspace has this id (any more)."""

    def __init__(self, snapshot_id: str) -> None:
        super().__init__(f"there is no snapshot {snapshot_id!r} of this workspace; it may have been collected")


class KeyTaken(NonokaError):
    """A session was created under this key before: ``session_id``. Nothing was written."""

    def __init__(self, key: str, session_id: str) -> None:
        super().__init__(f"the key {key!r} is that of session {session_id!r}")
        self.session_id = session_id


class WorkerUnfit(NonokaError):
    """Something runs on in this process that only its end can stop; what it holds is released by others."""


class ClaimLost(NonokaError):
    """A commit was refused: the task is no longer running under this claim's fence. Nothing was written."""

    def __init__(self, task_id: str, fence: int) -> None:
        super().__init__(f"task {task_id!r} no longer runs under fence {fence}; the commit was refused")


class ValueMissing(NonokaError):
    """A reference or condition of a plan that the values there are give no answer to."""


ModelFailureKind = Literal[
    "network",
    "timeout",
    "rate_limited",
    "server_error",
    "cut_off",
    "empty_answer",
    "unauthorized",
    "unknown_model",
    "bad_request",
    "script_ended",
    "not_set_up",
]


class ModelFailure(NonokaError):
    """A model request that brought no answer.

    ``transient`` tells whether the same request may succeed later; ``retry_after_ms`` is how long the
    server asked to wait, if it did. The message goes to the user as it is and holds no secret.
    """

    def __init__(
        self, kind: ModelFailureKind, message: str, *, transient: bool, retry_after_ms: int | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.transient = transient
        self.retry_after_ms = retry_after_ms


class ToolFailure(NonokaError):
    """A tool says why it could not do what it was asked; the text is the call's result."""
