"""What a commit changes of a plan, noted row by row; part of a Draft.

It shows each row as it will be after what was noted so far, and reads from the transaction only what it is
asked for.
"""

from __future__ import annotations

from pydantic import JsonValue

from nonoka.decisions.plan_references import INPUTS, NO_RESULT, NoResult
from nonoka.decisions.plan_shape import Shape, shape_of
from nonoka.records.plan import Step
from nonoka.records.session import SessionState, StepStatus
from nonoka.records.step_run import WHOLE, NewPlan, PlanChanges, PlanProgress, PlanRows, StepRun, StepValue

#: Live tasks of one session, where its plan doesn't say: enough for many workers, few enough to be looked through.
WINDOW = 128

_Place = tuple[str, int]


class PlanDraft:
    """Collects changes to the plan that these rows show."""

    def __init__(self, rows: PlanRows, state: SessionState) -> None:
        self.rows = rows
        self.shape: Shape = shape_of(rows.definition)
        self.progress = PlanProgress.model_validate(state.current_plan)
        self._runs: dict[_Place, StepRun] = {}
        self._values: list[StepValue] = []
        self._results: dict[_Place, StepValue] = {}
        self._ready: dict[str, None] = {}
        self._off: dict[str, None] = {}
        self._outputs: dict[str, JsonValue] | None = None
        self._edited: NewPlan | None = None

    # --- what the plan is now

    def run(self, step: str, item: int = WHOLE) -> StepRun:
        """The row as it will be."""
        return self._runs.get((step, item)) or self.rows.run(step, item)

    def step(self, run: StepRun) -> Step:
        """The row's definition."""
        return self.shape.steps[run.step]

    def in_finally(self, run: StepRun) -> bool:
        """Whether the row is one of a ``finally`` step."""
        return run.step in self.shape.finally_steps

    def lookup(self, head: str) -> JsonValue | NoResult:
        """What a reference's head refers to, for a condition or for the outputs."""
        if head == INPUTS:
            return self.rows.inputs() if self._edited is None else self._edited.inputs
        run = self.run(head)
        if run.status is not StepStatus.COMPLETED:
            return NO_RESULT
        if run.items is not None:
            found = self.rows.item_results(head, run.items)
            return [self._item_result(head, place, value) for place, value in enumerate(found)]
        noted = self._results.get((head, WHOLE))
        return noted.value if noted is not None else self.rows.result(head)

    def _item_result(self, step: str, item: int, stored: JsonValue) -> JsonValue:
        noted = self._results.get((step, item))
        return stored if noted is None else noted.value

    # --- what changes

    def put(self, run: StepRun, **update: object) -> StepRun:
        """The row is so; counts of what is at work and of what waits for room follow its phase."""
        before = self.run(run.step, run.item)
        after = run.model_copy(update=update) if update else run
        self._count("active", "tasked", before, after)
        self._count("queued", "queued", before, after)
        self._runs[run.step, run.item] = after
        return after

    def lay(self, run: StepRun, value: JsonValue) -> None:
        """A new row of an item, with the value that it works on."""
        self._runs[run.step, run.item] = run
        self._values.append(StepValue(step=run.step, item=run.item, value=value))

    def give(self, run: StepRun, value: JsonValue) -> None:
        """The row has this result."""
        self._results[run.step, run.item] = StepValue(step=run.step, item=run.item, value=value)

    def note(self, **update: object) -> None:
        """The plan's progress is so."""
        self.progress = self.progress.model_copy(update=update)

    def make_ready(self, run: StepRun) -> None:
        """The queued row has a task that is ready."""
        self.put(run, phase="tasked")
        self._ready[run.key] = None

    def take_off(self, run: StepRun) -> None:
        """The row's task, which nobody has claimed, is gone; the row waits to be taken up again."""
        self.put(run, phase="queued")
        self._off[run.key] = None

    def put_out(self, outputs: dict[str, JsonValue]) -> None:
        """The plan's outputs are these."""
        self._outputs = outputs

    def edit(self, new: NewPlan) -> None:
        """The plan is this one from here on; each of its steps has a row in its place."""
        known = self.shape.steps.keys()
        self.shape, self._edited = Shape(new.plan), new
        for step, place in self.shape.places.items():
            if step in known:
                self.put(self.run(step), place=place)
            else:
                # one of that id may have been completed before an earlier edit took it out: it had a lower round
                rounds = self.progress.taken_up
                self._runs[step, WHOLE] = StepRun(plan=new.number, step=step, place=place, rounds=rounds)
        self.note(name=new.plan.name, digest=new.digest)

    def fill(self) -> None:
        """As many of those that wait for room as there is room for have a task."""
        limit = min(self.shape.plan.max_parallel or WINDOW, WINDOW)
        room = limit - self.progress.active
        if room <= 0 or not self.progress.queued:
            return
        found = {(run.step, run.item): run for run in self.rows.queued(room + len(self._runs))}
        found = {key: run for key, run in found.items() if key not in self._runs}
        found |= {key: run for key, run in self._runs.items() if run.phase == "queued"}
        for run in sorted(found.values(), key=lambda run: (run.place, run.item))[:room]:
            self.make_ready(run)

    def noted_in(self, state: SessionState) -> SessionState:
        """The state with the progress as it is now."""
        noted = self.progress.model_dump(mode="json")
        return state if noted == state.current_plan else state.model_copy(update={"current_plan": noted})

    def changes(self) -> PlanChanges:
        """What is to be written."""
        return PlanChanges(
            number=self.progress.number,
            runs=tuple(self._runs.values()),
            values=tuple(self._values),
            results=tuple(self._results.values()),
            ready=tuple(self._ready),
            off=tuple(key for key in self._off if key not in self._ready),
            outputs=self._outputs,
            edited=self._edited,
        )

    def _count(self, counter: str, phase: str, before: StepRun, after: StepRun) -> None:
        step = (after.phase == phase) - (before.phase == phase)
        if step:
            self.note(**{counter: getattr(self.progress, counter) + step})
