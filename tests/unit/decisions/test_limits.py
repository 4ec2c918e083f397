"""How far a run and its session may go."""

from __future__ import annotations

import pytest

from nonoka.decisions import limits
from nonoka.records.runtime import RuntimeLimits, RuntimeUsage, SessionRuntimeState

USED = RuntimeUsage(model_turns=3, tool_calls=3, input_tokens=30, output_tokens=3, cost_usd=0.3, active_ms=3_000)
FIGURES = {
    "max_model_turns": 3,
    "max_input_tokens": 30,
    "max_output_tokens": 3,
    "max_total_tokens": 33,
    "max_cost_usd": 0.3,
}
UNLIMITED = RuntimeLimits(max_model_turns=None, max_tool_calls=None)


def runtime(
    run: RuntimeUsage = USED, session: RuntimeUsage = USED, limit: dict[str, float] | None = None
) -> SessionRuntimeState:
    return SessionRuntimeState(limits=UNLIMITED.model_copy(update=limit or {}), usage=run, session_usage=session)


@pytest.mark.parametrize(("name", "used"), FIGURES.items())
def test_a_run_that_has_used_up_a_limit_has_no_room(name: str, used: float) -> None:
    fresh = RuntimeUsage()
    assert limits.exceeded(runtime(session=fresh, limit={name: used}), 0) == name
    assert limits.exceeded(runtime(session=fresh, limit={name: used + 1}), 0) is None


@pytest.mark.parametrize(("name", "used"), FIGURES.items())
def test_a_sessions_limit_counts_all_its_runs(name: str, used: float) -> None:
    """A new run's count begins at nothing, the session's goes on."""
    fresh = RuntimeUsage()
    assert limits.exceeded(runtime(run=fresh, limit={f"session_{name}": used}), 0) == f"session_{name}"
    assert limits.exceeded(runtime(run=fresh, limit={f"session_{name}": used + 1}), 0) is None
    assert limits.exceeded(runtime(run=fresh, limit={name: used}), 0) is None


def test_without_limits_there_is_always_room() -> None:
    huge = RuntimeUsage(model_turns=10**9, input_tokens=10**12, output_tokens=10**12, cost_usd=1e9)
    assert limits.exceeded(runtime(run=huge, session=huge), 10**15) is None
    assert limits.tool_calls_left(runtime(run=huge, session=huge)) is None
    assert limits.deadline(runtime(run=huge, session=huge), 5) is None


def test_the_deadline_is_where_the_tightest_wall_limit_runs_out() -> None:
    """What was used before counts: each limit by its own usage."""
    state = runtime(
        run=RuntimeUsage(active_ms=1_000),
        session=RuntimeUsage(active_ms=9_000),
        limit={"max_wall_s": 5.0, "session_max_wall_s": 11.5},
    )
    assert limits.deadline(state, 100_000) == 102_500
    at_its_end = state.model_copy(update={"deadline_at": 102_500})
    assert limits.exceeded(at_its_end, 102_499) is None
    assert limits.exceeded(at_its_end, 102_500) == "session_max_wall_s"


def test_a_runs_own_wall_limit_is_named_where_it_is_tighter() -> None:
    state = runtime(limit={"max_wall_s": 3.5, "session_max_wall_s": 99.0})
    assert limits.deadline(state, 0) == 500
    assert limits.exceeded(state.model_copy(update={"deadline_at": 500}), 500) == "max_wall_s"


@pytest.mark.parametrize(
    ("run_limit", "session_limit", "left"),
    [(5, None, 2), (None, 7, 4), (5, 4, 1), (3, 9, 0), (1, 9, 0), (0, None, 0)],
)
def test_the_tighter_limit_says_how_many_calls_are_left(
    run_limit: int | None, session_limit: int | None, left: int
) -> None:
    """Never less than none, also where more were used than a limit allows."""
    state = SessionRuntimeState(
        limits=RuntimeLimits(max_tool_calls=run_limit, session_max_tool_calls=session_limit),
        usage=USED,
        session_usage=USED,
    )
    assert limits.tool_calls_left(state) == left
