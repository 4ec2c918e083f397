"""A rollback by hand, done by the session's task once it has the workspace."""

from __future__ import annotations

from pathlib import Path

from nonoka.decisions import rollback
from nonoka.decisions.rollback import Target
from nonoka.engine.deciding import deciding
from nonoka.engine.ports import Ports
from nonoka.engine.workspace import announce
from nonoka.errors import WorkspaceError
from nonoka.ports.store import Decide, ReadStore
from nonoka.records.commit import Claim, SessionView
from nonoka.records.event import EventType
from nonoka.records.runtime import RollbackRequest
from nonoka.records.workspace import FileChange, Rollback

#: How many files a refusal names.
FILES_NAMED = 20


async def find_target(store: ReadStore, session_id: str, request: RollbackRequest) -> Target | str:
    """Where the rollback leads, or why there is no such place, in words."""
    detail = await store.detail(session_id)
    events, entries = detail.events, detail.state.memory_entries
    if request.to is None:
        last = [event for event in events if event.type is EventType.SESSION_ROLLED_BACK]
        withdrawn = await store.withdrawn(session_id, last[-1].at) if last else []
        return rollback.undo_target(events, withdrawn, entries) or "there is no rollback to undo"
    if (why := rollback.before_its_fork(request.to, events)) is not None:
        return why
    found = rollback.target_of(request.to, entries, await store.snapshots_of(session_id))
    return rollback.no_such_turn(request.to, entries) if found is None else found


async def roll_back(ports: Ports, claim: Claim, view: SessionView, request: RollbackRequest) -> Decide:
    """The files are where the request leads; returns the decision that brings the conversation there as well.

    Where that can't be, nothing is changed, and the decision says why.
    """
    target = await find_target(ports.store, claim.session_id, request)
    if isinstance(target, str):
        return deciding(rollback.refuse, target)
    workspace = Path(view.index.working_dir)
    done: Rollback | None = None
    if target.snapshot_id is not None:
        name = f"turn-{target.turn}-by-hand-{view.task.turn}"
        try:
            refusal = await _in_the_way(ports, view, target, force=request.force)
            if refusal is not None:
                return deciding(rollback.refuse, refusal)
            if request.before is None:
                before = await ports.snapshots.take(workspace, claim.session_id, f"{name}-before")
                return deciding(rollback.note_before, before.snapshot_id, target.turn)
            done = await ports.snapshots.roll_back(workspace, target.snapshot_id, claim.session_id, name)
        except WorkspaceError as error:
            return deciding(rollback.refuse, str(error))
    entries = await ports.store.conversation(claim.session_id)
    kept = [entry for entry in entries if entry.position < target.position]
    return deciding(rollback.rolled_back, target, kept, done)


async def complete_begun(ports: Ports, claim: Claim, view: SessionView) -> Decide | None:
    """A rollback that has begun to change files is done, whoever began it; None where there is none.

    For those who release a claim: with its workspace free, another session would find half of it.
    """
    request = view.state.runtime_state.rollback
    if request is None or request.before is None or not view.holds_workspace:
        return None
    return await roll_back(ports, claim, view, request)


async def _in_the_way(ports: Ports, view: SessionView, target: Target, *, force: bool) -> str | None:
    workspace = Path(view.index.working_dir)
    other = await announce(ports, workspace, view.task.session_id)
    if other is not None:
        return f"the workspace is being changed by {other}"
    begun = view.state.runtime_state.rollback
    # One that has begun has had the workspace ever since.
    if force or target.snapshot_id is None or (begun is not None and begun.before is not None):
        return None
    changed = await ports.store.changed_by_others(view.task.session_id, str(workspace), target.since)
    if not changed:
        return None
    files = await ports.snapshots.changes(workspace, target.snapshot_id)
    sessions = ", ".join(sorted({one.session_id[:8] for one in changed}))
    return f"session {sessions} has changed this workspace since ({_named(files)}); force it to undo that as well"


def _named(files: tuple[FileChange, ...]) -> str:
    more = f" and {len(files) - FILES_NAMED} more" if len(files) > FILES_NAMED else ""
    return ", ".join(file.path for file in files[:FILES_NAMED]) + more if files else "no file differs"
