"""A new session that begins as a copy of another one: its conversation, usage and workspace as of a turn."""

from __future__ import annotations

from pathlib import Path

from nonoka.decisions.rollback import OF_A_PLAN, Target, before_its_fork, no_such_turn, target_of
from nonoka.engine.accept import worktree_of, worktree_path
from nonoka.engine.ports import Ports
from nonoka.errors import UsageError
from nonoka.records.base import JsonObject
from nonoka.records.commit import NewSession, SessionDetail
from nonoka.records.event import Event, EventType, NewEvent
from nonoka.records.memory import MemoryEntry
from nonoka.records.runtime import RuntimeUsage, SessionRuntimeState, Termination
from nonoka.records.session import SessionIndex, SessionState, SessionStatus
from nonoka.records.workspace import Isolation


async def fork(
    ports: Ports, session_id: str, turn: int, *, isolation: Isolation, directory: Path | None
) -> SessionIndex:
    """The new session is stored, paused, and its workspace written out; the old one is as it was.

    The workspace is ``directory``, which must be new or empty (None: one beside the old workspace), or a git
    working tree of the repository there. Raises UsageError, WorkspaceError.
    """
    detail = await ports.store.detail(session_id)
    if detail.index.kind == "plan":
        raise UsageError(f"session {session_id} can't be forked: {OF_A_PLAN}")
    entries = detail.state.memory_entries
    target = target_of(turn, entries, await ports.store.snapshots_of(session_id))
    if target is None:
        raise UsageError(f"{no_such_turn(turn, entries)}; see: nonoka sessions show {session_id}")
    if (why := before_its_fork(turn, detail.events)) is not None:
        raise UsageError(f"session {session_id} can't be forked there: {why}")
    kept = tuple(entry for entry in entries if entry.position < target.position)
    fork_id = ports.clock.new_id()
    index = await _index(ports, detail, fork_id, isolation, directory)
    await _write_out(ports, detail, target, index)
    await ports.store.create_session(_copy(detail, index, kept, target, turn))
    return index


async def _index(
    ports: Ports, detail: SessionDetail, fork_id: str, isolation: Isolation, directory: Path | None
) -> SessionIndex:
    old, now = detail.index, ports.clock.now_ms()
    metadata: JsonObject = {}
    repository = old.worktree.repository if old.worktree else old.working_dir
    outermost = await ports.worktrees.outermost(Path(repository))
    if isolation == "worktree":
        await _refuse_inner(ports, old)
        working_dir = worktree_path(outermost, fork_id)
        metadata["worktree"] = worktree_of(repository, fork_id).model_dump()
    else:
        working_dir = directory or outermost.with_name(f"{outermost.name}.nonoka-forks") / fork_id
    return SessionIndex(
        session_id=fork_id,
        title=old.title,
        working_dir=str(working_dir),
        agent=old.agent,
        model=old.model,
        created_at=now,
        last_active=now,
        parent=old.session_id,
        metadata=metadata,
    )


async def _refuse_inner(ports: Ports, old: SessionIndex) -> None:
    """A working tree holds a whole repository, and of this one only a directory is in the snapshots."""
    place = Path(old.working_dir)
    inner = place.name != old.session_id if old.worktree else await ports.worktrees.root(place) != place
    if inner:
        raise UsageError(
            f"{old.working_dir!r} is a directory inside its repository, so a fork of it can't be a working tree; "
            "leave --worktree out"
        )


async def _write_out(ports: Ports, detail: SessionDetail, target: Target, index: SessionIndex) -> None:
    workspace = Path(detail.index.working_dir)
    snapshot_id = target.snapshot_id
    if snapshot_id is None:
        name = f"fork-{index.session_id}"
        snapshot_id = (await ports.snapshots.take(workspace, detail.index.session_id, name)).snapshot_id
    place = Path(index.working_dir)
    if index.worktree is not None:
        await ports.worktrees.make(Path(index.worktree.repository), place, index.worktree.branch, empty=True)
    await ports.snapshots.write_out(workspace, snapshot_id, place)


def _copy(
    detail: SessionDetail, index: SessionIndex, entries: tuple[MemoryEntry, ...], target: Target, turn: int
) -> NewSession:
    usage = _usage_until(turn, detail.events)
    paused = Termination(reason="paused", at=index.created_at, message=f"forked at the end of turn {turn}")
    origin: JsonObject = {"from": detail.index.session_id, "turn": turn, "snapshot": target.snapshot_id}
    about: JsonObject = {"agent": index.agent, "model": index.model, "working_dir": index.working_dir}
    return NewSession(
        index=index,
        state=SessionState(
            session_id=index.session_id,
            status=SessionStatus.PAUSED,
            start_time=index.created_at,
            turn_count=turn,
            runtime_state=SessionRuntimeState(
                limits=detail.state.runtime_state.limits, usage=usage, session_usage=usage, termination=paused
            ),
        ),
        entries=entries,
        events=(
            NewEvent(type=EventType.SESSION_CREATED, data=about),
            NewEvent(type=EventType.SESSION_FORKED, data=origin),
        ),
    )


def _usage_until(turn: int, events: tuple[Event, ...]) -> RuntimeUsage:
    """What the turns up to this one used: each answer's event says what it cost, each call that began counts."""
    total = RuntimeUsage()
    begun: set[str] = set()
    for event in events:
        at = event.data.get("turn")
        if not isinstance(at, int) or at > turn:
            continue
        spent = event.data.get("usage")
        if event.type is EventType.MODEL_ANSWERED and isinstance(spent, dict):
            total = total.plus(RuntimeUsage.model_validate({**spent, "model_turns": 1}))
        if event.type is EventType.CALL_STARTED:
            begun.add(str(event.data["tool_call_id"]))
    return total.plus(RuntimeUsage(tool_calls=len(begun)))
