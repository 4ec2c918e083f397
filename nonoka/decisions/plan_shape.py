"""A plan as its engine looks things up in it: steps by id, and what comes after each. Made once a definition."""

from __future__ import annotations

import functools

from nonoka.decisions.plan_graph import Dependencies, Graph, finally_graph_of, graph_of
from nonoka.records.plan import Plan, Step
from nonoka.records.step_run import PlanDefinition


class Shape:
    """The steps of one plan and their graphs; ``finally`` steps know only one another."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.steps: dict[str, Step] = {step.id: step for step in (*plan.steps, *plan.finally_steps)}
        self.places = {step: place for place, step in enumerate(self.steps)}
        self.finally_steps = frozenset(step.id for step in plan.finally_steps)
        self._main = graph_of(plan)
        self._finally = finally_graph_of(plan)

    def graph(self, step: str) -> Graph:
        """The graph that the step is in."""
        return self._finally if step in self.finally_steps else self._main

    def after(self, step: str) -> tuple[str, ...]:
        """What waits for the step, directly."""
        return self.graph(step).after(step)

    def before(self, step: str) -> tuple[str, ...]:
        """What the step waits for, directly."""
        return self.graph(step).before(step)

    def dependencies(self, step: str) -> Dependencies:
        """The same, strict and loose ones apart."""
        return self.graph(step).dependencies[step]

    @property
    def roots(self) -> tuple[str, ...]:
        """The steps that wait for none, without the ``finally`` ones."""
        return tuple(step for step in self._main.dependencies if not self._main.before(step))

    @property
    def leaves(self) -> tuple[str, ...]:
        """The steps that no other waits for, without the ``finally`` ones."""
        return self._main.leaves

    def with_dependents(self, steps: set[str]) -> set[str]:
        """These steps, and all that wait for them, directly or not."""
        main = self._main.with_dependents(steps - self.finally_steps)
        return {*main, *self._finally.with_dependents(steps & self.finally_steps)}


@functools.lru_cache(maxsize=64)
def shape_of(definition: PlanDefinition) -> Shape:
    """The shape of this definition; an object of its own digest, so the same one is asked again."""
    return Shape(definition.plan)
