"""What was edited in a plan between two runs of it. The retry decides by it, and the command line tells it."""

from __future__ import annotations

from nonoka.records.base import Record
from nonoka.records.plan import Plan, Step

#: So many steps are named.
NAMED = 10


class PlanDifference(Record):
    """Ids of steps, in the plan's order. One that moved into ``finally``, or out of it, has changed."""

    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def told(self) -> str:
        """In words."""
        parts = [f"{name} {_listed(ids)}" for name, ids in self.model_dump().items() if ids]
        return "; ".join(parts) or "no step differs"


def difference(old: Plan, new: Plan) -> PlanDifference:
    """How the steps of the new plan differ from those of the old one."""
    before, after = _steps(old), _steps(new)
    return PlanDifference(
        changed=tuple(step for step in after if step in before and before[step] != after[step]),
        added=tuple(step for step in after if step not in before),
        removed=tuple(step for step in before if step not in after),
    )


def _steps(plan: Plan) -> dict[str, tuple[bool, Step]]:
    main = {step.id: (False, step) for step in plan.steps}
    return main | {step.id: (True, step) for step in plan.finally_steps}


def _listed(ids: tuple[str, ...]) -> str:
    return ", ".join(ids[:NAMED]) + (f" and {len(ids) - NAMED} more" if len(ids) > NAMED else "")
