"""How the steps of a plan hang together: what each waits for, layers, cycles, what comes after a step."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from nonoka.decisions.plan_references import RESERVED, Reference, references_in
from nonoka.decisions.plan_when import parse_when, references_of
from nonoka.records.plan import Plan, Step

#: After a name in ``depends_on``: after that step, however it ended.
LOOSE = "?"


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The ids of the steps that one waits for, in the order in which it names them.

    It is skipped where one of ``strict`` was skipped; with those in ``loose`` it only waits until they have
    ended, and references to them are null where they have no result.
    """

    strict: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """All of them."""
        return self.strict + self.loose


def step_references(step: Step) -> tuple[Reference, ...]:
    """Each reference in the step, wherever it stands. Raises ExpressionInvalid."""
    found = references_in([step.args, step.prompt, step.task, step.output, step.for_each])
    return found if step.when is None else (*found, *references_of(parse_when(step.when)))


def step_dependencies(step: Step) -> Dependencies:
    """What the step waits for: ``depends_on``, and each step that it refers to. Raises ExpressionInvalid."""
    loose = dict.fromkeys(name.removesuffix(LOOSE) for name in step.depends_on if name.endswith(LOOSE))
    named = [name for name in step.depends_on if not name.endswith(LOOSE)]
    referred = [reference.head for reference in step_references(step) if reference.head not in RESERVED]
    strict = dict.fromkeys(name for name in (*named, *referred) if name not in loose)
    return Dependencies(tuple(strict), tuple(loose))


class Graph:
    """Steps and what they wait for. Names of steps that aren't among them are left out; cycles are allowed."""

    def __init__(self, dependencies: Mapping[str, Dependencies]) -> None:
        self.dependencies = dependencies
        self._before = {
            step: tuple(name for name in found.ids if name in dependencies) for step, found in dependencies.items()
        }
        after: dict[str, list[str]] = {step: [] for step in dependencies}
        for step, before in self._before.items():
            for name in before:
                after[name].append(step)
        self._after = {step: tuple(names) for step, names in after.items()}

    def before(self, step_id: str) -> tuple[str, ...]:
        """What the step waits for, directly."""
        return self._before[step_id]

    def after(self, step_id: str) -> tuple[str, ...]:
        """What waits for the step, directly, in the plan's order."""
        return self._after[step_id]

    @property
    def leaves(self) -> tuple[str, ...]:
        """The steps that no other waits for, in the plan's order."""
        return tuple(step for step, after in self._after.items() if not after)

    def layers(self) -> tuple[tuple[str, ...], ...]:
        """The steps by how far they are from the start, each layer in the plan's order.

        Steps on a cycle, or behind one, are in no layer.
        """
        order = {step: place for place, step in enumerate(self._before)}
        found = []
        layer = [step for step, before in self._before.items() if not before]
        waiting = {step: len(before) for step, before in self._before.items()}
        while layer:
            found.append(tuple(layer))
            layer = sorted(_released(layer, self._after, waiting), key=order.__getitem__)
        return tuple(found)

    def ready(self, ended: Collection[str]) -> tuple[str, ...]:
        """The steps not ended whose dependencies all have, in the plan's order."""
        return tuple(
            step
            for step, before in self._before.items()
            if step not in ended and all(name in ended for name in before)
        )

    def with_dependents(self, step_ids: Iterable[str]) -> tuple[str, ...]:
        """These steps and all that wait for them, directly or not, in the plan's order."""
        found = set(step_ids)
        waiting = deque(found)
        while waiting:
            for step in self._after[waiting.popleft()]:
                if step not in found:
                    found.add(step)
                    waiting.append(step)
        return tuple(step for step in self._before if step in found)

    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """Cycles, each as the steps that wait for one another; its first is its last. None only if there is none.

        Of cycles that share steps, or lead into one another, not all need be told.
        """
        laid = {step for layer in self.layers() for step in layer}
        seen: set[str] = set()
        found = []
        for start in self._before:
            if start in laid or start in seen:
                continue
            cycle = self._cycle_from(start, laid, seen)
            if cycle:
                found.append(cycle)
        return tuple(found)

    def critical_path(self, durations: Mapping[str, float]) -> tuple[str, ...]:
        """The chain of steps that took longest altogether; a step without a duration counts as 0."""
        length: dict[str, float] = {}
        behind: dict[str, str | None] = {}
        for layer in self.layers():
            for step in layer:
                longest = max(self._before[step], key=lambda name: length[name], default=None)
                behind[step] = longest
                length[step] = durations.get(step, 0) + (length[longest] if longest is not None else 0)
        last = max(length, key=lambda name: length[name], default=None)
        return tuple(reversed(list(_chain(last, behind))))

    def _cycle_from(self, start: str, laid: set[str], seen: set[str]) -> tuple[str, ...]:
        # what is in no layer waits for something in no layer, so following one such dependency ends in a cycle
        path: dict[str, int] = {}
        step = start
        while step not in path and step not in seen:
            path[step] = len(path)
            step = next(name for name in self._before[step] if name not in laid)
        seen.update(path)
        if step not in path:
            return ()
        knot = list(path)[path[step] :]
        return (*knot, step)


def graph_of(plan: Plan) -> Graph:
    """The graph of the plan's steps, without the ``finally`` ones. Raises ExpressionInvalid."""
    return Graph({step.id: step_dependencies(step) for step in plan.steps})


def finally_graph_of(plan: Plan) -> Graph:
    """The graph of the plan's ``finally`` steps among themselves: each runs however those before it ended."""
    return Graph({step.id: step_dependencies(step) for step in plan.finally_steps})


def _released(
    layer: Iterable[str], after: Mapping[str, tuple[str, ...]], waiting: dict[str, int]
) -> Iterator[str]:
    for step in layer:
        for follower in after[step]:
            waiting[follower] -= 1
            if not waiting[follower]:
                yield follower


def _chain(last: str | None, behind: Mapping[str, str | None]) -> Iterator[str]:
    while last is not None:
        yield last
        last = behind[last]
