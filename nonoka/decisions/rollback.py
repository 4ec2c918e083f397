"""A person brings a session back to an earlier turn: its conversation and its files, together.

What was there before stays: withdrawn entries are kept, and the files are in a snapshot, so that it can be undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from nonoka.decisions.draft import Draft
from nonoka.decisions.transitions import SessionEvent, allows
from nonoka.records.base import Record
from nonoka.records.event import Event, EventType
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.runtime import RollbackRequest
from nonoka.records.signal import Signal
from nonoka.records.workspace import Rollback, SnapshotTaken

#: A plan has steps, not turns.
OF_A_PLAN = (
    "it runs a plan, which has no turns to go back to; a step is run again by: nonoka sessions retry --from STEP"
)
#: How many files an event names.
FILES_SHOWN = 50


class Target(Record):
    """Where a rollback leads: the first position that is no longer part of the conversation, and the snapshot.

    ``snapshot_id`` is None where this session has not changed the workspace since. ``since`` is when it was
    taken (ms UTC). ``restores`` are entries that come back, at new positions, when a rollback is undone.
    """

    turn: int
    position: int
    snapshot_id: str | None
    since: int = 0
    restores: tuple[MemoryEntry, ...] = ()


def ask_rollback(draft: Draft, signal: Signal) -> None:
    """The session's task will do it, unless the session is at work."""
    to = signal.payload.get("to")
    if draft.view.index.kind == "plan":
        _refused(draft, OF_A_PLAN)
    elif not allows(draft.state.status, SessionEvent.ROLL_BACK):
        _refused(draft, f"the session is {draft.state.status.value}; pause or cancel it first")
    elif draft.runtime.rollback is None:
        request = RollbackRequest(to=None if to is None else int(str(to)), force="force" in signal.payload)
        draft.set_runtime(rollback=request)


def drop_rollback(draft: Draft, why: str) -> None:
    """A rollback that was asked for and not yet done is not done."""
    if draft.runtime.rollback is not None:
        draft.set_runtime(rollback=None)
        _refused(draft, why)


def reserve(draft: Draft) -> None:
    """The task has the workspace, or waits for it."""
    draft.want_workspace()


def note_before(draft: Draft, snapshot_id: str, turn: int) -> None:
    """The state that is about to be replaced is on record, so that it is found whatever happens meanwhile."""
    if draft.runtime.rollback is not None:
        draft.set_runtime(rollback=draft.runtime.rollback.model_copy(update={"before": snapshot_id}))
    draft.note_snapshot(snapshot_id, turn=turn, step_id=f"turn:{turn}", why="before_rollback")
    draft.want_workspace()


def refuse(draft: Draft, why: str) -> None:
    """Nothing was changed, and the task is done."""
    drop_rollback(draft, why)
    draft.finish_task(next_turn=bool(draft.signals))


def rolled_back(draft: Draft, target: Target, before: Sequence[MemoryEntry], done: Rollback | None) -> None:
    """The conversation is as it was at the target, where the files are already; the session waits for a person.

    ``before`` is the conversation up to the target's position.
    """
    state_before = draft.runtime.rollback.before if draft.runtime.rollback else None
    draft.set_runtime(rollback=None)
    draft.withdraw(target.position, before[-1] if before else None)
    for entry in target.restores:
        draft.append(entry.role, entry.content, entry.metadata, entry.tokens)
    if draft.calls:
        draft.close_calls()
    draft.tell(
        EventType.SESSION_ROLLED_BACK,
        to=target.turn,
        position=target.position,
        before=state_before,
        files=[f"{change.kind} {change.path}" for change in (done.changes if done else ())[:FILES_SHOWN]],
        kept=[f"{note.path}: {note.why}" for note in (done.kept if done else ())[:FILES_SHOWN]],
    )
    draft.move(SessionEvent.ROLL_BACK)
    draft.stop_clock("paused", message=f"rolled back to the end of turn {target.turn}")
    draft.finish_task(next_turn=bool(draft.signals))


def target_of(turn: int, entries: Sequence[MemoryEntry], taken: Sequence[SnapshotTaken]) -> Target | None:
    """Where a rollback to the end of that turn leads; None where the conversation has no such turn.

    Turn 0 is the prompt alone.
    """
    position = cut_after(turn, entries)
    if position is None:
        return None
    later = next((one for one in taken if one.turn > turn and one.why == "before_call"), None)
    return Target(
        turn=turn,
        position=position,
        snapshot_id=later.snapshot_id if later else None,
        since=later.taken_at if later else 0,
    )


def undo_target(
    events: Sequence[Event], withdrawn: Sequence[MemoryEntry], entries: Sequence[MemoryEntry]
) -> Target | None:
    """Where undoing the last rollback leads; None where there is none to undo."""
    last = next((event for event in reversed(events) if event.type is EventType.SESSION_ROLLED_BACK), None)
    if last is None:
        return None
    before, position = last.data.get("before"), int(str(last.data["position"]))
    there = [*(entry for entry in entries if entry.position < position), *withdrawn]
    return Target(
        turn=max(turns_of(there)),
        position=position,
        snapshot_id=None if before is None else str(before),
        since=last.at,
        restores=tuple(withdrawn),
    )


def cut_after(turn: int, entries: Sequence[MemoryEntry]) -> int | None:
    """The first position after a turn's assistant entry and its results; None where no such turn has ended."""
    if turn == 0:
        return next((e.position for e in entries if e.role is MemoryRole.ASSISTANT), None)
    following = iter(entries)
    asked = next((entry for entry in following if turn_of(entry) == turn), None)
    if asked is None:
        return None
    results = list(takewhile(lambda entry: entry.role is MemoryRole.TOOL, following))
    if len(results) < len(asked.tool_calls):
        return None
    return (results[-1] if results else asked).position + 1


def turns_of(entries: Iterable[MemoryEntry]) -> list[int]:
    """The turns of a conversation, in order; 0 is that of the prompt."""
    return [0, *(turn for entry in entries if (turn := turn_of(entry)) is not None)]


def no_such_turn(turn: int, entries: Sequence[MemoryEntry]) -> str:
    """Why the conversation has no end of that turn, in words."""
    turns = turns_of(entries)
    if turn in turns:
        return f"turn {turn} has not ended; the conversation's turns are {', '.join(map(str, turns))}"
    return f"the conversation has no turn {turn}; its turns are {', '.join(map(str, turns))}"


def before_its_fork(turn: int, events: Iterable[Event]) -> str | None:
    """Where a session was forked later than at that turn: that another one has its files of then, in words."""
    origin = next((event.data for event in events if event.type is EventType.SESSION_FORKED), None)
    if origin is None or turn >= int(str(origin["turn"])):
        return None
    return (
        f"it was forked at the end of turn {origin['turn']} and has no files of before; "
        f"see: nonoka sessions fork {origin['from']} --at {turn}"
    )


def turn_of(entry: MemoryEntry) -> int | None:
    """The turn that an assistant entry belongs to."""
    found = entry.metadata.get("turn")
    return found if entry.role is MemoryRole.ASSISTANT and isinstance(found, int) else None


def _refused(draft: Draft, why: str) -> None:
    draft.tell(EventType.ROLLBACK_REFUSED, why=why)
