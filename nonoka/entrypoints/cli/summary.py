"""The lines that close what a person watched: how the session stands, and what may come next."""

from __future__ import annotations

import json
import sys

from nonoka.decisions.final_answer import final_answer
from nonoka.entrypoints.cli.failures import say
from nonoka.entrypoints.cli.figures import cost, counted, printable, seconds, tokens
from nonoka.entrypoints.cli.screen import Span, Style
from nonoka.entrypoints.cli.statuses import next_of
from nonoka.records.commit import SessionDetail
from nonoka.records.session import SessionState, SessionStatus

STATUS_STYLE: dict[str, Style] = {
    SessionStatus.COMPLETED: "good",
    SessionStatus.FAILED: "bad",
    SessionStatus.CANCELLED: "bad",
    SessionStatus.PAUSED: "warn",
}


def closing_line(state: SessionState) -> list[Span]:
    """Status, turns, tokens, cost, time and id, of the run that was watched."""
    runtime, usage = state.runtime_state, state.runtime_state.usage
    # The time is counted once the run ends or pauses.
    time = [seconds(usage.active_ms)] if runtime.clock_started_at is None else []
    steps = [counted(state.step_count, "step")] if state.current_plan is not None else []
    asked = [counted(usage.model_turns, "turn"), tokens(usage)] if usage.model_turns or not steps else []
    figures = [*steps, *asked, *cost(usage), *time, state.session_id]
    return [
        Span(state.status.value, STATUS_STYLE.get(state.status, "strong")),
        Span(" · " + " · ".join(figures) + "\n", "dim"),
    ]


def say_why_not_done(state: SessionState) -> None:
    """If the session isn't completed, stderr says why, and what leads on."""
    ended, status = state.runtime_state.termination, state.status
    if status is SessionStatus.COMPLETED:
        return
    why = f": {ended.error_type}: {ended.message}" if ended is not None and ended.error_type else ""
    if status is SessionStatus.FAILED:
        say(f"nonoka: error: the session failed{why}")
    else:
        say(f"nonoka: the session is {status.value}{why}")
    say(f"nonoka: next: {next_of(state)}")


def write_answer(detail: SessionDetail) -> None:
    """The final answer, or a plan's outputs, alone is on stdout; to a terminal, without what could steer it."""
    answer = final_answer(detail.state)
    if detail.plan is not None and detail.plan.outputs is not None:
        answer = json.dumps(detail.plan.outputs, ensure_ascii=False, indent=2)
    if answer is None:
        return
    text = printable(answer) if sys.stdout.isatty() else answer
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()
