"""Settling: what a call started is ended and its workspace goes back, before anything is decided about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from nonoka.decisions import task_kinds
from nonoka.decisions.calls import key_of
from nonoka.engine.deciding import deciding
from nonoka.engine.ports import Ports
from nonoka.errors import UnknownSnapshot, WorkspaceError
from nonoka.ports.processes import Processes
from nonoka.ports.store import LEASE_MS
from nonoka.records.commit import Claim, SessionView
from nonoka.records.tool import CallState, SettledCall

#: How long a rollback that fails is tried again, for a disk may be full, or git missing, and that may pass.
PATIENCE_MS = 15 * 60 * 1_000


def call_mark(session_id: str, call: CallState) -> str:
    """What everything that this attempt of a call starts carries in its environment."""
    return f"{key_of(session_id, call)}#{call.attempt}"


async def end_processes(processes: Processes, session_id: str, calls: Iterable[CallState]) -> dict[int, int]:
    """No process of the begun calls lives any more; returns how many were ended, by the call's place.

    Raises NonokaError, naming them, where some can't be ended from here.
    """
    return {
        call.place: await processes.end(call.processes, call_mark(session_id, call))
        for call in calls
        if call.status == "begun"
    }


async def settle(
    ports: Ports, claim: Claim, view: SessionView, *, owner_seen_at: int | None = None
) -> Mapping[int, SettledCall]:
    """No process of the begun calls lives, and their workspace is as before them; what that did, by place.

    ``owner_seen_at`` (ms UTC) is when their worker was last known to live, where it had died before anybody
    looked: what is changed in the workspace a lease later is not theirs. Killed anywhere, it can be done again.
    Raises NonokaError, naming them, where processes can't be ended from here, or where a rollback fails and
    may not fail the next time: not one of a workspace that is gone, nor one that has failed for PATIENCE_MS.
    """
    ended = await end_processes(ports.processes, claim.session_id, view.calls)
    settled = {place: SettledCall(place=place) for place in ended}
    # One whose time was over is answered, and what it did stays, as with any other that is ended for its time.
    in_workspace = [
        call for call in view.calls if call.place in ended and call.snapshot is not None and call.overdue_s is None
    ]
    ends = {
        call.place: min(view.now, owner_seen_at + LEASE_MS)
        for call in in_workspace
        if owner_seen_at is not None and call.over_at is None and not ended[call.place]
    }
    if ends:
        await ports.store.commit(claim, deciding(task_kinds.note_end, ends))
    for call in in_workspace:
        settled[call.place] = await _brought_back(ports, claim, view, call, ends.get(call.place, call.over_at))
    return settled


async def _brought_back(
    ports: Ports, claim: Claim, view: SessionView, call: CallState, over_at: int | None
) -> SettledCall:
    try:
        return await _rolled_back(ports, claim, view, call, over_at)
    except UnknownSnapshot:
        return SettledCall(place=call.place, not_rolled_back="its snapshot is gone")
    except WorkspaceError as error:
        if call.stuck_since is None and not error.lasting:
            await ports.store.commit(claim, deciding(task_kinds.note_stuck, call.place))
        if not error.lasting and (call.stuck_since is None or view.now - call.stuck_since < PATIENCE_MS):
            raise
        return SettledCall(place=call.place, not_rolled_back=str(error))


async def _rolled_back(
    ports: Ports, claim: Claim, view: SessionView, call: CallState, over_at: int | None
) -> SettledCall:
    if call.snapshot is None:
        raise ValueError(f"call {call.call_id!r} has no snapshot to go back to")
    workspace = Path(view.index.working_dir)
    changed = await ports.snapshots.repository_changes(workspace, call.repository)
    if changed is not None:
        return SettledCall(place=call.place, not_rolled_back=f"git itself was run ({changed})")
    name = snapshot_name(call, f"undone-{claim.fence}")
    undone = call.undone
    if undone is None:
        undone = (await ports.snapshots.take(workspace, claim.session_id, name)).snapshot_id
        await ports.store.commit(claim, deciding(task_kinds.note_undone, call.place, undone), durable=True)
    rollback = await ports.snapshots.roll_back(
        workspace, call.snapshot, claim.session_id, f"{name}-now", until_ms=over_at
    )
    return SettledCall(place=call.place, rollback=rollback.model_copy(update={"before": undone}))


def snapshot_name(call: CallState, suffix: str) -> str:
    """The name of a snapshot that belongs to a call."""
    if call.step is not None:
        return f"{re.sub('[^A-Za-z0-9]+', '-', call.step)}-{suffix}"
    return f"turn-{call.turn}-call-{call.place}-{suffix}"
