"""What became of a plan's steps: a row for each step, and for each item of one that is fanned out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import JsonValue

from nonoka.records.base import JsonObject, Record
from nonoka.records.plan import Plan
from nonoka.records.session import StepStatus
from nonoka.records.tool import CallState, Doubt, Effect, OnUncertain, ProcessGroup

#: The item of a row that is the step itself.
WHOLE = -1

#: Where a step is on its way to a task. ``blocked``: dependencies have not ended. ``held``: an item that its step
#: has no room for. ``queued``: the session has no room for it. ``tasked``: it has a live task. ``spread``: its
#: items are at work. ``over``: it has ended.
StepPhase = Literal["blocked", "held", "queued", "tasked", "spread", "over"]


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class PlanDefinition:
    """A plan as it was stored; ``digest`` names its content. One object for each digest in a process."""

    digest: str
    plan: Plan


class StepRun(Record):
    """A row of ``plan_steps``, without its result.

    ``place`` is where the step stands in the definition, ``item`` which of its items this is. ``missing`` counts
    the dependencies that have not ended. ``reason`` is why it is, or will be, skipped. ``attempt`` counts begins,
    ``tries`` attempts that failed, ``rounds`` how often a person had it run again after it was completed.

    ``begun``: an attempt runs under ``fence``, its outcome not recorded; what follows there is as in CallState.
    Of a step that is fanned out, ``items`` is how many there are, of which ``laid`` have a row and ``open_items``
    have not ended; ``let_go`` are at work or wait for the session's room, and ``next_item`` is the first that was
    not looked at for that. ``child`` is the session that an agent's step waits for. Times are ms UTC.
    """

    plan: int
    step: str
    item: int = WHOLE
    place: int = 0
    status: StepStatus = StepStatus.PENDING
    phase: StepPhase = "blocked"
    missing: int = 0
    reason: str | None = None
    attempt: int = 0
    tries: int = 0
    rounds: int = 0
    begun: bool = False
    fence: int = 0
    effect: Effect = Effect.EXTERNAL
    on_uncertain: OnUncertain = "replay"
    processes: tuple[ProcessGroup, ...] = ()
    snapshot: str | None = None
    repository: str | None = None
    over_at: int | None = None
    undone: str | None = None
    stuck_since: int | None = None
    doubt: Doubt = "none"
    overdue_s: float | None = None
    error_type: str | None = None
    message: str | None = None
    traceback: str = ""
    items: int | None = None
    laid: int = 0
    next_item: int = 0
    let_go: int = 0
    open_items: int = 0
    child: str | None = None
    started_at: int | None = None
    ended_at: int | None = None

    @property
    def key(self) -> str:
        """The key of its task."""
        return step_key(self.plan, self.step, self.item)

    @property
    def step_id(self) -> str:
        """Its name in a session's state."""
        return step_id_of(self.plan, self.step, self.item)

    @property
    def over(self) -> bool:
        """It has ended, however."""
        return self.phase == "over"


class StepValue(Record):
    """A value that belongs to a row of ``plan_steps``: an item that it works on, or its result."""

    step: str
    item: int = WHOLE
    value: JsonValue = None


class PlanProgress(Record):
    """How far the session's current plan got: small, for it is in every checkpoint.

    ``open`` counts the steps that have not ended, ``open_finally`` the ``finally`` ones. ``active`` counts live
    step tasks, ``queued`` the steps and items that wait for room. ``failed_step`` is the first whose failure makes
    the plan fail. ``taken_up`` counts how often the plan was taken up again after it had failed.
    """

    name: str
    number: int = 1
    digest: str
    file: str | None = None
    open: int = 0
    open_finally: int = 0
    finally_begun: bool = False
    active: int = 0
    queued: int = 0
    taken_up: int = 0
    failed_step: str | None = None
    error_type: str | None = None
    message: str | None = None


class PlanRows(Protocol):
    """The current plan as one transaction finds it: a decision reads what it needs, and only that."""

    @property
    def definition(self) -> PlanDefinition:
        """The plan."""

    def inputs(self) -> JsonObject:
        """The values that it was started with."""

    def run(self, step: str, item: int = WHOLE) -> StepRun:
        """One row, which is known to exist."""

    def result(self, step: str) -> JsonValue:
        """What a completed step brought, if it was not fanned out."""

    def item_results(self, step: str, items: int) -> list[JsonValue]:
        """What each item of a step brought, null for those that were not completed."""

    def queued(self, limit: int) -> Sequence[StepRun]:
        """The first that wait for room, in the plan's order."""

    def unfinished(self) -> Sequence[StepRun]:
        """Every row that has not ended, items included."""

    def items(self, step: str) -> Sequence[StepRun]:
        """The rows of a step's items, in order."""

    def unclaimed(self) -> Sequence[StepRun]:
        """The rows whose task is ready, or waits for the workspace."""

    def with_child(self) -> Sequence[StepRun]:
        """The rows that wait for a session of their own."""

    def another_runs(self) -> bool:
        """Whether another task of the session is running."""


class NewPlan(Record):
    """A plan as it is stored: its digest, and the values that it is started with."""

    number: int = 1
    digest: str
    plan: Plan
    inputs: JsonObject = {}


class PlanChanges(Record):
    """What a commit writes of a plan. Rows are written whole; what ended with a result has it in ``results``.

    ``ready`` are the keys of tasks that become ready, ``off`` of those that are taken off before they began.
    ``edited`` takes the place of the plan that was there.
    """

    number: int
    runs: tuple[StepRun, ...] = ()
    values: tuple[StepValue, ...] = ()
    results: tuple[StepValue, ...] = ()
    ready: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    outputs: JsonObject | None = None
    edited: NewPlan | None = None


class PlanDetail(Record):
    """Everything about a session's current plan. ``results`` has a value for each step that brought one."""

    plan: Plan
    inputs: JsonObject
    outputs: JsonObject | None
    runs: tuple[StepRun, ...]
    results: dict[str, JsonValue]


class StepInputs(Record):
    """What a step's task works with: results by step id (those that have one), the inputs, its item's value."""

    inputs: JsonObject
    results: dict[str, JsonValue]
    item: JsonValue = None


def step_key(plan: int, step: str, item: int = WHOLE) -> str:
    """The key of a step's task."""
    return f"step:{plan}:{step}" if item == WHOLE else f"step:{plan}:{step}/item:{item}"


def step_of_key(key: str) -> tuple[str, int]:
    """(step, item) of a step's task, from its key."""
    name, _, item = key.split(":", 2)[2].partition("/item:")
    return name, int(item) if item else WHOLE


def step_id_of(plan: int, step: str, item: int = WHOLE) -> str:
    """The name of a step, or of an item of it, in a session's state."""
    return f"plan:{plan}/step:{step}" if item == WHOLE else f"plan:{plan}/step:{step}/item:{item}"


def call_of(run: StepRun) -> CallState:
    """The row as the call that an attempt of it is."""
    return CallState(
        turn=0,
        place=0,
        call_id=run.key,
        name=run.step,
        args={},
        position=0,
        status="begun" if run.begun else "done" if run.over else "not_begun",
        attempt=run.attempt,
        fence=run.fence,
        effect=run.effect,
        on_uncertain=run.on_uncertain,
        processes=run.processes,
        snapshot=run.snapshot,
        repository=run.repository,
        over_at=run.over_at,
        undone=run.undone,
        stuck_since=run.stuck_since,
        doubt=run.doubt,
        overdue_s=run.overdue_s,
        step=run.key + (f"~{run.rounds}" if run.rounds else ""),
    )
