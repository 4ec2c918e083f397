"""The store: everything is in it. One method is one transaction.

The protocols are by reader: tasks for workers, sessions for those who make and signal them, the read side
for those who look, retention for collections. ``Store`` is all of them, which is what an adapter provides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from nonoka.records.commit import (
    Changes,
    Claim,
    Committed,
    DueTask,
    LostClaim,
    NewSession,
    NewSignal,
    ReadyTask,
    SessionDetail,
    SessionLine,
    SessionView,
    Standing,
)
from nonoka.records.event import Event
from nonoka.records.memory import MemoryEntry
from nonoka.records.retention import Leftover, OldSession
from nonoka.records.session import SessionIndex, SessionState
from nonoka.records.session_filter import ANY_SESSION, SessionFilter
from nonoka.records.step_run import StepInputs, StepRun
from nonoka.records.task import Worker
from nonoka.records.workload import Workload
from nonoka.records.workspace import SnapshotTaken

#: A pure choice, made inside the transaction from what that transaction reads.
Decide = Callable[[SessionView], Changes]

#: How long a claim holds unless it is renewed (design: 30 s).
LEASE_MS = 30_000
#: How long another's task must have been due before a session gives way to it. A free thread takes it sooner; and
#: one that gave way to what is on its way to such a thread would have the next give way to it in its turn.
GIVE_WAY_MS = 100
#: More than any task that can be claimed has cost.
ANY_DEATHS = 1_000


class TaskStore(Protocol):
    """What a worker needs."""

    async def mark_due(
        self, limit: int, *, agents_to_skip: Sequence[str] = (), shared: bool = False
    ) -> list[DueTask]:
        """Mark at most ``limit`` due tasks as sent, longest due first, and return them.

        With ``shared`` no more than this worker's share of them, as there are so many workers.
        A task that was sent and is still unclaimed is due again at doubling intervals.
        """

    async def claim(
        self,
        worker_id: str,
        decide: Decide,
        *,
        task_id: str | None = None,
        session_id: str | None = None,
        agents_to_skip: Sequence[str] = (),
        most_deaths: int = ANY_DEATHS,
    ) -> Committed | None:
        """Take a ready and due task: running, fence + 1, attempt + 1; and commit ``decide``'s first changes.

        By ``task_id`` that one; if it is taken, or without an id, the next due one; with ``session_id``
        only that session's; of those only tasks that have cost at most ``most_deaths`` workers. None if
        there is none.
        """

    async def commit(
        self,
        claim: Claim,
        decide: Decide,
        *,
        durable: bool = False,
        then_claim: Decide | None = None,
        give_way: bool = False,
    ) -> Committed:
        """Apply a decision to the session as this transaction reads it, if the task runs under this fence.

        Renews the lease. ``durable`` makes it and all before it survive a power cut. ``then_claim``: the
        task that becomes ready in this commit is claimed by the same worker in it, with these changes; with
        ``give_way`` only if no other session's task has been due for ``GIVE_WAY_MS``.
        Raises ClaimLost. Once begun it is carried through even if the caller is cancelled.
        """

    async def renew(self, worker_id: str) -> dict[str, int]:
        """Renew all leases of a worker, note that it was seen; returns ``{task_id: fence}`` still held."""

    async def sessions_to_interrupt(self, worker_id: str) -> set[str]:
        """The sessions that this worker runs tasks of and whose inbox holds a cancel, or a pause that can't wait.

        Which those are says ``decisions.inbox.interrupts``.
        """

    async def running_claims(self) -> list[LostClaim]:
        """Every running task with its owner, for the sweeper to judge."""

    async def take_over(self, claim: LostClaim, worker_id: str) -> tuple[Claim, SessionView] | None:
        """Raise the fence of a lost claim and become its owner, to settle it; None if another was first."""

    async def register_worker(self, worker: Worker) -> None:
        """Add a worker's row."""

    async def remove_worker(self, worker_id: str) -> None:
        """Remove a worker's row; it must own no running task."""

    async def workers(self) -> list[Worker]:
        """Every worker's row."""

    async def agree_on_broker(self, broker: str, *, instead_of: str | None = None) -> str:
        """The broker that this store's workers use: this one where none is on record, or ``instead_of`` is."""

    async def free_workspaces(self) -> list[str]:
        """Wake those that wait for a workspace that nobody has (their ids are returned), freeing what no
        running task holds any more.
        """

    async def repair_taskless(self) -> list[str]:
        """Give each session that is created or running and has no task one; returns the session ids."""


class SessionStore(Protocol):
    """What those need who make sessions or signal them."""

    async def create_session(
        self, new: NewSession, *, claim_by: str | None = None, decide: Decide | None = None
    ) -> Committed | None:
        """Store a session, its prompt, its first task and its events, durably.

        With ``claim_by`` (and ``decide``) the first task is claimed in the same transaction. Raises KeyTaken,
        and stores nothing, where a session has its ``enqueue_key`` already.
        """

    async def delete_session(self, session_id: str) -> None:
        """Everything of the session is gone, its key is free again; what was made for it is a leftover.

        Raises UnknownSession, and StoreError, changing nothing, where a task of it is running.
        """

    async def add_signal(self, session_id: str, signal: NewSignal) -> int:
        """Write to a session's inbox and make sure of a task that will read it; returns the signal's seq.

        A session without a live task gets one (a paused one only by a retry, a resume or a cancel); one
        that waits for its time becomes due. A pause or cancel of a session that has ended is ignored when
        drained.
        """


class ReadStore(Protocol):
    """What those need who look; none of it writes."""

    async def find_session(self, prefix: str) -> SessionIndex:
        """The one session whose id begins so. Raises UnknownSession, AmbiguousSession."""

    async def load_session(self, session_id: str) -> SessionState:
        """The whole state: snapshot, conversation, and step updates merged in their order."""

    async def conversation(self, session_id: str, *, from_position: int = 0) -> list[MemoryEntry]:
        """The entries from a position on."""

    async def withdrawn(self, session_id: str, at: int) -> list[MemoryEntry]:
        """The entries that left the conversation at that time (ms UTC), in order."""

    async def list_sessions(self, *, limit: int, matching: SessionFilter = ANY_SESSION) -> list[SessionLine]:
        """The first ``limit`` of those that match, newest first. Raises UnknownSession for ``matching.before``."""

    async def count_sessions(self) -> dict[str, int]:
        """How many sessions have each status; a status that none has is left out."""

    async def ready_tasks(self, *, limit: int) -> list[ReadyTask]:
        """The tasks that wait to be claimed, or for their time to come; the longest due first."""

    async def workload(self) -> Workload:
        """How many tasks are live, and how long the oldest has been due; its cost follows what is live."""

    async def detail(self, session_id: str) -> SessionDetail:
        """Everything about one session."""

    async def step_inputs(self, session_id: str, run: StepRun, wanted: Sequence[str]) -> StepInputs:
        """What a step's attempt works with: the plan's inputs, what these steps brought, and its item's value."""

    async def events_after(self, session_id: str, seq: int, *, limit: int = 1000) -> list[Event]:
        """The timeline after a place in it."""

    async def change_mark(self) -> int:
        """A number that differs once anything was committed since it was last asked for."""

    async def snapshots_of(self, session_id: str) -> list[SnapshotTaken]:
        """The snapshots on record for a session, oldest first."""

    async def snapshots_in_use(self) -> set[str]:
        """The ids of all snapshots that some session needs and that were not let go."""

    async def changed_by_others(self, session_id: str, workspace: str, since: int) -> list[SnapshotTaken]:
        """Calls of other sessions in this workspace that were begun since then (ms UTC) and have ended."""

    async def holds_workspace(self, session_id: str) -> bool:
        """Whether a task of this session may change its workspace now."""

    async def standing(self, session_id: str) -> Standing:
        """The session's status and its live tasks, as of one moment. Raises UnknownSession."""


class RetentionStore(Protocol):
    """What a collection needs: what is old, what is left of what is gone, and room."""

    async def begin_collection(self, *, again_in_ms: int) -> bool:
        """Whether a collection is due; then nobody else hears so for this long."""

    async def end_collection(self, *, next_in_ms: int) -> None:
        """The next one is due then."""

    async def old_sessions(
        self, before: int, *, limit: int, after: SessionIndex | None = None
    ) -> list[OldSession]:
        """The first ``limit`` ended sessions that were last active before then (ms UTC), oldest first.

        They come in the order in which they were created, beginning after ``after``.
        """

    async def delete_old_sessions(self, session_ids: Sequence[str], before: int) -> list[str]:
        """Those that still may go are gone as by ``delete_session``; returns them.

        Which may says ``decisions.retention.may_go``; it is asked in this transaction, one after the other.
        """

    async def known_sessions(self, session_ids: Sequence[str]) -> set[str]:
        """Those of these ids that are a session's."""

    async def spare_snapshots(self, *, taken_until: int) -> int:
        """How many snapshots of ended sessions at rest are kept that were taken until then (ms UTC)."""

    async def let_go_of_snapshots(self, number: int, *, taken_until: int) -> int:
        """So many of those, the oldest, are not in use any more; returns how many that were.

        They stay on record, so that a rollback to one of them is refused.
        """

    async def leftovers(self) -> list[Leftover]:
        """The directories that were made for sessions that are deleted, in which no session works."""

    async def forget_leftover(self, directory: str) -> None:
        """That directory is off the record."""

    async def free_bytes(self) -> int:
        """What the store's file holds and doesn't need, as far as ``give_back`` can free it."""

    async def give_back(self, *, most_bytes: int) -> int:
        """The file is smaller by about so many bytes, or by what it doesn't need; returns how many."""


class Store(TaskStore, SessionStore, ReadStore, RetentionStore, Protocol):
    """All of it, and its end."""

    async def store_id(self) -> str:
        """The id of this store, given to it when first asked for."""

    async def close(self) -> None:
        """Let go of the store. Every connection is closed when this returns."""
