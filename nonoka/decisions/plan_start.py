"""A plan's first rows and progress. ``engine/accept`` stores them with the session."""

from __future__ import annotations

import hashlib

from nonoka.decisions.plan_shape import Shape
from nonoka.records.plan import Plan
from nonoka.records.step_run import NewPlan, PlanProgress, StepRun


def digest_of(plan: Plan) -> str:
    """Names the plan's content."""
    return hashlib.sha256(plan.model_dump_json().encode()).hexdigest()


def first_runs(shape: Shape, number: int) -> tuple[StepRun, ...]:
    """A row for each step. A ``finally`` step waits for the others as for one dependency more."""
    return tuple(
        StepRun(
            plan=number,
            step=step,
            place=place,
            missing=len(shape.before(step)) + (step in shape.finally_steps),
        )
        for step, place in shape.places.items()
    )


def first_progress(new: NewPlan, *, file: str | None) -> PlanProgress:
    """Nothing has begun."""
    return PlanProgress(
        name=new.plan.name,
        number=new.number,
        digest=new.digest,
        file=file,
        open=len(new.plan.steps),
        open_finally=len(new.plan.finally_steps),
    )
