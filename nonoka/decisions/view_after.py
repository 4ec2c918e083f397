"""The session as a commit leaves it, from what that commit read and wrote: nothing is read twice.

The stores call this; tests/contract/test_committing.py holds that what is read next says the same.
"""

from __future__ import annotations

from nonoka.decisions.calls import calls_after, read_calls
from nonoka.records.commit import Changes, SessionView
from nonoka.records.memory import MemoryRole
from nonoka.records.runtime import OpenTurn
from nonoka.records.step_run import call_of
from nonoka.records.task import Task
from nonoka.records.tool import CallState


def view_after(view: SessionView, changes: Changes, task: Task) -> SessionView:
    """The view of ``task`` as it stands once the changes are written, in the transaction that read ``view``."""
    state = view.state if changes.state is None else changes.state
    open_turn = state.runtime_state.open_turn
    update: dict[str, object] = {"task": task, "state": state, "calls": _calls(view, changes, open_turn)}
    if changes.state is not None:
        update["index"] = view.index.model_copy(update={"last_active": view.now})
    if changes.drained:
        update["signals"] = tuple(s for s in view.signals if s.seq not in changes.drained)
    if changes.entries:
        # A result may be written below a later one; then both are results, and either says what the newest is.
        newest = max(changes.entries, key=lambda entry: entry.position)
        reserved = 0 if open_turn is None else open_turn.position + 1 + open_turn.calls
        update["next_position"] = max(view.next_position, newest.position + 1, reserved)
        update["last_role"] = newest.role
        update["last_has_calls"] = newest.role is MemoryRole.ASSISTANT and bool(newest.metadata.get("tool_calls"))
    if view.step is not None and changes.plan is not None:
        mine = (view.step.step, view.step.item)
        step = next((run for run in changes.plan.runs if (run.step, run.item) == mine), view.step)
        update |= {"step": step, "calls": (call_of(step),)}
    elif view.step is not None:
        update["calls"] = view.calls
    return view.model_copy(update=update)


def _calls(view: SessionView, changes: Changes, open_turn: OpenTurn | None) -> tuple[CallState, ...]:
    if open_turn is None:
        return ()
    answered = {entry.position for entry in changes.entries}
    if open_turn == view.state.runtime_state.open_turn:
        return calls_after(view.calls, answered, changes.updates)
    asked = next(entry for entry in changes.entries if entry.position == open_turn.position)
    return read_calls(open_turn, asked, answered, changes.updates)
