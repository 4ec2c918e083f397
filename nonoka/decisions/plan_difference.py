"""What was edited in a plan between two runs of it. The retry decides by it, and the command line tells it."""

from __future__ import annotations

from collections.abc import Collection

from nonoka.decisions.plan_graph import step_references
from nonoka.decisions.plan_references import INPUTS
from nonoka.records.base import JsonObject, Record
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


def difference(old: Plan, new: Plan, inputs: Collection[str] = ()) -> PlanDifference:
    """How the steps of the new plan differ from those of the old one; one that refers to these ``inputs``, which
    have another value now, does.
    """
    before, after = _steps(old), _steps(new)
    return PlanDifference(
        changed=tuple(
            step
            for step, given in after.items()
            if step in before and (before[step] != given or _uses(given[1], inputs))
        ),
        added=tuple(step for step in after if step not in before),
        removed=tuple(step for step in before if step not in after),
    )


def changed_inputs(old: JsonObject, new: JsonObject) -> frozenset[str]:
    """The names of those that have another value, or none any more."""
    return frozenset(name for name in {*old, *new} if name not in old or name not in new or old[name] != new[name])


def _uses(step: Step, inputs: Collection[str]) -> bool:
    named = [each for each in step_references(step) if each.head == INPUTS] if inputs else []
    return any(not each.path or each.path[0] in inputs for each in named)


def _steps(plan: Plan) -> dict[str, tuple[bool, Step]]:
    main = {step.id: (False, step) for step in plan.steps}
    return main | {step.id: (True, step) for step in plan.finally_steps}


def _listed(ids: tuple[str, ...]) -> str:
    return ", ".join(ids[:NAMED]) + (f" and {len(ids) - NAMED} more" if len(ids) > NAMED else "")
