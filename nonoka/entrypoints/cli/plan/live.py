"""What a terminal shows of a plan that is followed: its layers with states and times, kept up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from nonoka.entrypoints.cli.display import Display
from nonoka.entrypoints.cli.live_block import LiveBlock
from nonoka.entrypoints.cli.plan.board import PlanBoard
from nonoka.entrypoints.cli.status_line import status_line
from nonoka.records.commit import Standing
from nonoka.records.event import Event, EventType
from nonoka.records.plan import Plan
from nonoka.records.session import SessionState
from nonoka.records.step_run import StepRun

#: Steps may end faster than anybody can see.
BETWEEN_MS = 50
#: What the picture shows by itself.
_IN_PICTURE = (
    EventType.SESSION_CREATED,
    EventType.STEP_STARTED,
    EventType.STEP_FINISHED,
    EventType.STEP_SKIPPED,
    EventType.TASK_WAITING,
)


def plan_display(plan: Plan, runs: Iterable[StepRun] = (), *, verbose: bool = False) -> Display:
    """The picture where stdout is a terminal that can show one, else the timeline."""
    if verbose or status_line() is None:
        return Display(verbose=verbose)
    return PlanDisplay(PlanBoard(plan, runs), LiveBlock(sys.stdout))


class PlanDisplay(Display):
    """A picture at the bottom of the terminal, and above it what else is to be told."""

    def __init__(self, board: PlanBoard, block: LiveBlock) -> None:
        super().__init__()
        self._board = board
        self._block = block
        self._now = 0

    def show(self, event: Event) -> None:
        """The picture is as it is after the event."""
        self._board.told(event)
        spans = self._timeline.told(event)
        if spans and event.type not in _IN_PICTURE and self._screen is not None:
            self._block.clear()
            self._screen.write([*spans, *self._timeline.ended()])
            self._draw(event.at)
        elif event.at - self._now >= BETWEEN_MS:
            self._draw(event.at)

    def tick(self, now: int, standing: Standing) -> None:
        """The times go on."""
        self._draw(now)

    def sum_up(self, state: SessionState) -> None:
        """The picture stays, with the closing line under it."""
        self._draw(self._now)
        self._block.leave()
        super().sum_up(state)

    def _draw(self, now: int) -> None:
        self._now = max(now, self._now)
        self._block.show(self._board.lines(self._now, columns=self._block.columns, most=self._block.most))
