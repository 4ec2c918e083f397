"""A workspace that a task has taken: its snapshot before a call, and what is left to do when it is free again."""

from __future__ import annotations

from pathlib import Path

from nonoka.engine.ports import Ports
from nonoka.engine.settle import snapshot_name
from nonoka.errors import WorkspaceError
from nonoka.records.commit import Claim, Committed, SessionView
from nonoka.records.tool import CallState
from nonoka.records.workspace import Snapshot, Work


async def prepare(ports: Ports, claim: Claim, view: SessionView, call: CallState) -> Snapshot | str:
    """The workspace is announced as in use and kept as it is; or who else is changing it, through another store.

    Raises WorkspaceError.
    """
    workspace = Path(view.index.working_dir)
    other = await announce(ports, workspace, claim.session_id)
    if other is not None:
        return other
    name = snapshot_name(call, f"before-{call.attempt + 1}-{claim.fence}")
    return await ports.snapshots.take(workspace, claim.session_id, name)


async def announce(ports: Ports, workspace: Path, session_id: str) -> str | None:
    """Other stores see that the session is changing this workspace; or who of them is, and nothing is said."""
    await ports.workspace_use.announce(workspace, session_id)
    # Looked for after the announcement: of two that come at once, each sees the other.
    other = await ports.workspace_use.others(workspace)
    if other is not None:
        await ports.workspace_use.withdraw(workspace, session_id)
    return other


async def after_commit(ports: Ports, committed: Committed) -> None:
    """Others hear of what a commit means to them: a workspace that is free, a task that need not wait any more."""
    if committed.changes.workspace == "free":
        workspace = Path(committed.view.index.working_dir)
        await ports.workspace_use.withdraw(workspace, committed.claim.session_id)
    for task_id in committed.woken:
        await ports.broker.send(task_id)


async def keep_work(ports: Ports, view: SessionView) -> Work:
    """What was done in the session's own working tree is committed there, or it is said why it can't be.

    Done before the commit that ends the run, so that it can't be missing after it; done twice it changes nothing.
    """
    if view.index.worktree is None:
        return Work()
    message = f"{view.index.title}\n\nnonoka session {view.task.session_id}"
    try:
        return Work(commit=await ports.worktrees.commit(Path(view.index.working_dir), message))
    except WorkspaceError as error:
        # The answer is not lost for it, and the work lies where it was done.
        return Work(not_committed=str(error))
