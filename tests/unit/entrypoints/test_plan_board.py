"""The picture of a plan that is being run: what its events come to."""

from __future__ import annotations

from nonoka.entrypoints.cli.plan.board import PlanBoard
from nonoka.records.event import Event, EventType
from nonoka.records.plan import Plan, Step

PLAN = Plan(
    name="demo",
    steps=(
        Step(id="fetch", tool="t"),
        Step(id="check", tool="t", for_each=[1, 2], depends_on=("fetch",)),
        Step(id="maybe", tool="t", depends_on=("fetch",)),
    ),
    finally_steps=(Step(id="tidy", tool="t"),),
)


def event(type_: EventType, at: int, **data: object) -> Event:
    return Event.model_validate({"session_id": "s", "seq": 1, "at": at, "type": type_, "data": data})


def shown(board: PlanBoard, now: int, most: int = 20) -> list[str]:
    lines = board.lines(now, columns=60, most=most)
    return ["".join(span.text for span in line) for line in lines]


def test_each_step_is_shown_in_its_layer_with_its_state_and_time() -> None:
    """Running ones count on, items are counted, and why one was skipped is said."""
    board = PlanBoard(PLAN)
    assert shown(board, 0) == [
        "demo  0 of 4 steps",
        " ── · fetch",
        " ┬─ · check",
        " └─ · maybe",
        " ── · tidy",
    ]
    board.told(event(EventType.STEP_STARTED, 1_000, step="fetch", item=None, attempt=1))
    board.told(event(EventType.STEP_FINISHED, 3_000, step="fetch", item=None, ok=True, duration_ms=2_000))
    board.told(event(EventType.STEP_STARTED, 3_000, step="check", item=None, attempt=1, items=2))
    board.told(event(EventType.STEP_FINISHED, 3_500, step="check", item=1, ok=True))
    board.told(event(EventType.STEP_SKIPPED, 3_500, step="maybe", reason="when"))
    assert shown(board, 4_500) == [
        "demo  2 of 4 steps",
        " ── ✓ fetch  2.0 s",
        " ┬─ ● check  1.5 s  1 of 2 items",
        " └─ – maybe  its condition does not hold",
        " ── · tidy",
    ]


def test_a_plan_that_is_higher_than_the_terminal_shows_what_goes_on() -> None:
    board = PlanBoard(PLAN)
    board.told(event(EventType.STEP_STARTED, 0, step="fetch", item=None, attempt=2))
    assert shown(board, 1_000, most=3) == ["demo  0 of 4 steps", " ── ● fetch  1.0 s  attempt 2"]
