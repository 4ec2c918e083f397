"""A session as a transaction shows it to a decision."""

from __future__ import annotations

from collections.abc import Mapping

from nonoka.adapters.memory import plan_rows
from nonoka.adapters.memory.rows import SessionRows, holder_of, open_calls
from nonoka.records.commit import SessionView
from nonoka.records.step_run import call_of, step_of_key
from nonoka.records.task import Task


def view_for(rows: SessionRows, task: Task, now: int, locks: Mapping[str, str]) -> SessionView:
    """The session as these rows show it, for this task; ``locks``: who may change which workspace."""
    turn = rows.state.runtime_state.open_turn
    highest = max(rows.entries, default=-1)
    last = rows.entries.get(max(rows.standing, default=-1))
    plan = plan_rows.rows_for(rows, task.task_id)
    step = plan.run(*step_of_key(task.key)) if plan is not None and task.kind == "step" else None
    return SessionView(
        now=now,
        task=task,
        index=rows.index,
        state=rows.state,
        signals=rows.undrained,
        calls=open_calls(rows) if step is None else (call_of(step),),
        next_position=max(highest + 1, turn.position + 1 + turn.calls if turn else 0),
        last_role=last.role if last else None,
        last_has_calls=bool(last and last.metadata.get("tool_calls")),
        workspace_holder=holder_of(locks, rows.index.working_dir, task.task_id),
        step=step,
        plan=plan,
    )
