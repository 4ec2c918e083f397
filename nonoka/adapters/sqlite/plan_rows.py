"""A plan as one transaction finds it, and what a commit writes of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from pydantic import JsonValue

from nonoka.adapters.sqlite import plan_steps, plans, tasks
from nonoka.decisions.step_merge import current_runs
from nonoka.records.base import JsonObject
from nonoka.records.session import SessionState, StepStatus
from nonoka.records.step_run import (
    WHOLE,
    PlanChanges,
    PlanDefinition,
    PlanDetail,
    PlanProgress,
    StepInputs,
    StepRun,
    step_of_key,
)
from nonoka.records.task import Task, task_id_of


class SqlitePlanRows:
    """``records.step_run.PlanRows`` inside a transaction; of no use after it."""

    def __init__(self, db: sqlite3.Connection, task: Task, progress: PlanProgress) -> None:
        self._db = db
        self._task = task
        self._session_id = task.session_id
        self._plan = progress.number
        self._definition = plans.definition(db, task.session_id, progress.number, progress.digest)

    @property
    def definition(self) -> PlanDefinition:
        """See the port; good after the transaction too."""
        return self._definition

    def inputs(self) -> JsonObject:
        """See the port."""
        return plans.inputs(self._db, self._session_id, self._plan)

    def run(self, step: str, item: int = WHOLE) -> StepRun:
        """See the port."""
        return plan_steps.get(self._db, self._session_id, self._plan, step, item)

    def result(self, step: str) -> JsonValue:
        """See the port."""
        return plan_steps.result(self._db, self._session_id, self._plan, step)[1]

    def item_results(self, step: str, items: int) -> list[JsonValue]:
        """See the port."""
        return plan_steps.item_results(self._db, self._session_id, self._plan, step, items)

    def queued(self, limit: int) -> Sequence[StepRun]:
        """See the port."""
        return plan_steps.queued(self._db, self._session_id, self._plan, limit)

    def unfinished(self) -> Sequence[StepRun]:
        """See the port."""
        return plan_steps.unfinished(self._db, self._session_id, self._plan)

    def items(self, step: str) -> Sequence[StepRun]:
        """See the port."""
        return plan_steps.items(self._db, self._session_id, self._plan, step)

    def unclaimed(self) -> Sequence[StepRun]:
        """See the port."""
        return [self.run(*step_of_key(key)) for key in tasks.unclaimed_steps(self._db, self._session_id)]

    def with_child(self) -> Sequence[StepRun]:
        """See the port."""
        return plan_steps.with_child(self._db, self._session_id, self._plan)

    def another_runs(self) -> bool:
        """See the port."""
        return tasks.another_runs(self._db, self._session_id, self._task.task_id)


def progress_of(state: SessionState) -> PlanProgress | None:
    """How far the session's plan got; None where it runs none."""
    return None if state.current_plan is None else PlanProgress.model_validate(state.current_plan)


def view_parts(
    db: sqlite3.Connection, task: Task, state: SessionState
) -> tuple[SqlitePlanRows | None, StepRun | None]:
    """What a view shows of the session's plan: its rows, and the one that the task is for."""
    progress = progress_of(state)
    if progress is None:
        return None, None
    rows = SqlitePlanRows(db, task, progress)
    return rows, rows.run(*step_of_key(task.key)) if task.kind == "step" else None


def write(db: sqlite3.Connection, session_id: str, changes: PlanChanges, now: int) -> None:
    """What the commit changes of the plan is in this transaction."""
    plan = changes.number
    plan_steps.put(db, session_id, changes.runs)
    plan_steps.give_values(db, session_id, plan, changes.values)
    plan_steps.give_results(db, session_id, plan, changes.results)
    if changes.edited is not None:
        plans.put(db, session_id, changes.edited)
    if changes.outputs is not None:
        plans.put_out(db, session_id, plan, changes.outputs)
    for key in changes.off:
        tasks.take_off(db, task_id_of(session_id, key))
    for key in changes.ready:
        tasks.open_step(db, session_id, key, now)


def detail(db: sqlite3.Connection, session_id: str, progress: PlanProgress) -> PlanDetail:
    """Everything about the session's plan."""
    found = plan_steps.of_plan(db, session_id, progress.number)
    return PlanDetail(
        plan=plans.definition(db, session_id, progress.number, progress.digest).plan,
        inputs=plans.inputs(db, session_id, progress.number),
        outputs=plans.outputs(db, session_id, progress.number),
        runs=tuple(current_runs(run for run, _ in found)),
        results={
            run.step_id: value for run, value in found if run.status is StepStatus.COMPLETED and run.items is None
        },
    )


def step_inputs(
    db: sqlite3.Connection, session_id: str, progress: PlanProgress, run: StepRun, wanted: Sequence[str]
) -> StepInputs:
    """The inputs, what these steps brought, and the item's value."""
    found = {step: plan_steps.result(db, session_id, progress.number, step) for step in wanted}
    item = None if run.item == WHOLE else plan_steps.value(db, session_id, run.plan, run.step, run.item)
    return StepInputs(
        inputs=plans.inputs(db, session_id, progress.number),
        results={step: value for step, (completed, value) in found.items() if completed},
        item=item,
    )
