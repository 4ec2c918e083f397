"""A plan as one transaction finds it, and what a commit writes of it. Called by the store's parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import JsonValue

from nonoka.adapters.memory.rows import KeptPlan, SessionRows
from nonoka.decisions.step_merge import current_runs
from nonoka.records.base import JsonObject
from nonoka.records.session import StepStatus
from nonoka.records.step_run import (
    WHOLE,
    NewPlan,
    PlanChanges,
    PlanDefinition,
    PlanDetail,
    PlanProgress,
    StepInputs,
    StepRun,
    step_of_key,
)
from nonoka.records.task import Task, TaskStatus


class MemoryPlanRows:
    """``records.step_run.PlanRows`` over a session's rows."""

    def __init__(self, rows: SessionRows, task_id: str, number: int) -> None:
        self._rows = rows
        self._task_id = task_id
        self._plan = number

    @property
    def definition(self) -> PlanDefinition:
        """See the port."""
        return self._rows.plans[self._plan].definition

    def inputs(self) -> JsonObject:
        """See the port."""
        return self._rows.plans[self._plan].inputs

    def run(self, step: str, item: int = WHOLE) -> StepRun:
        """See the port."""
        return self._rows.steps[self._plan, step, item]

    def result(self, step: str) -> JsonValue:
        """See the port."""
        return self._rows.step_results.get((self._plan, step, WHOLE))

    def item_results(self, step: str, items: int) -> list[JsonValue]:
        """See the port."""
        return [self._item_result(step, item) for item in range(items)]

    def queued(self, limit: int) -> Sequence[StepRun]:
        """See the port."""
        return self._sorted("queued")[:limit]

    def unfinished(self) -> Sequence[StepRun]:
        """See the port."""
        return self._sorted("blocked", "held", "queued", "tasked", "spread")

    def items(self, step: str) -> Sequence[StepRun]:
        """See the port."""
        return [self.run(step, item) for item in range(self.run(step).laid)]

    def unclaimed(self) -> Sequence[StepRun]:
        """See the port."""
        return [self.run(*step_of_key(task.key)) for task in self._rows.live_tasks if _unclaimed(task)]

    def with_child(self) -> Sequence[StepRun]:
        """See the port."""
        return [run for run in self.unfinished() if run.child is not None]

    def another_runs(self) -> bool:
        """See the port."""
        others = (task for task in self._rows.live_tasks if task.task_id != self._task_id)
        return any(task.status is TaskStatus.RUNNING for task in others)

    def _item_result(self, step: str, item: int) -> JsonValue:
        completed = self.run(step, item).status is StepStatus.COMPLETED
        return self._rows.step_results.get((self._plan, step, item)) if completed else None

    def _sorted(self, *phases: str) -> list[StepRun]:
        found = [run for run in self._rows.steps.values() if run.plan == self._plan and run.phase in phases]
        return sorted(found, key=lambda run: (run.place, run.item))


def rows_for(rows: SessionRows, task_id: str) -> MemoryPlanRows | None:
    """The session's current plan; None where it runs none."""
    if rows.state.current_plan is None:
        return None
    return MemoryPlanRows(rows, task_id, PlanProgress.model_validate(rows.state.current_plan).number)


def store_plan(rows: SessionRows, new: NewPlan) -> None:
    """The session has this plan; one of the same number gives way to it."""
    rows.plans[new.number] = KeptPlan(PlanDefinition(new.digest, new.plan), new.inputs)


def write(rows: SessionRows, changes: PlanChanges) -> None:
    """What the commit changes of the plan is in the rows; its tasks are the caller's."""
    plan = changes.number
    for run in changes.runs:
        rows.steps[plan, run.step, run.item] = run
    rows.step_values |= {(plan, value.step, value.item): value.value for value in changes.values}
    rows.step_results |= {(plan, result.step, result.item): result.value for result in changes.results}
    if changes.edited is not None:
        store_plan(rows, changes.edited)
    if changes.outputs is not None:
        rows.plans[plan] = replace(rows.plans[plan], outputs=changes.outputs)


def detail(rows: SessionRows) -> PlanDetail | None:
    """Everything about the session's plan."""
    plan = rows_for(rows, "")
    if plan is None or rows.state.current_plan is None:
        return None
    number = PlanProgress.model_validate(rows.state.current_plan).number
    runs = sorted(
        current_runs(run for run in rows.steps.values() if run.plan == number),
        key=lambda run: (run.place, run.item),
    )
    return PlanDetail(
        plan=plan.definition.plan,
        inputs=plan.inputs(),
        outputs=rows.plans[number].outputs,
        runs=tuple(runs),
        results={
            run.step_id: rows.step_results.get((number, run.step, run.item))
            for run in runs
            if run.status is StepStatus.COMPLETED and run.items is None
        },
    )


def step_inputs(rows: SessionRows, run: StepRun, wanted: Sequence[str]) -> StepInputs:
    """The inputs, what these steps brought, and the item's value."""
    plan = MemoryPlanRows(rows, "", run.plan)
    completed = [plan.run(step) for step in wanted if plan.run(step).status is StepStatus.COMPLETED]
    return StepInputs(
        inputs=plan.inputs(),
        results={
            found.step: plan.result(found.step)
            if found.items is None
            else plan.item_results(found.step, found.items)
            for found in completed
        },
        item=rows.step_values.get((run.plan, run.step, run.item)),
    )


def _unclaimed(task: Task) -> bool:
    waits = task.status is TaskStatus.WAITING and task.waits_for == "workspace"
    return task.kind == "step" and (task.status is TaskStatus.READY or waits)
