"""How far a run, and its session, may still go."""

from __future__ import annotations

from nonoka.records.runtime import RuntimeUsage, SessionRuntimeState


def exceeded(runtime: SessionRuntimeState, now: int) -> str | None:
    """The name of a limit that leaves no room for another model request; None if there is room."""
    for prefix, usage in (("", runtime.usage), ("session_", runtime.session_usage)):
        for name, used in _figures(usage).items():
            limit = getattr(runtime.limits, prefix + name)
            if limit is not None and used >= limit:
                return prefix + name
    return wall_exceeded(runtime, now)


def wall_exceeded(runtime: SessionRuntimeState, now: int) -> str | None:
    """The name of the limit of time that is over; None if there is time left."""
    over = runtime.deadline_at is not None and now >= runtime.deadline_at
    return _tightest_wall(runtime)[1] if over else None


def tool_calls_left(runtime: SessionRuntimeState) -> int | None:
    """How many more calls may begin; None if there is no limit."""
    limits = runtime.limits
    left = [
        limit - used
        for limit, used in (
            (limits.max_tool_calls, runtime.usage.tool_calls),
            (limits.session_max_tool_calls, runtime.session_usage.tool_calls),
        )
        if limit is not None
    ]
    return max(0, min(left)) if left else None


def deadline(runtime: SessionRuntimeState, now: int) -> int | None:
    """When the tightest wall limit runs out if the session runs on from now without a pause."""
    left, _ = _tightest_wall(runtime)
    return None if left is None else now + left


def _tightest_wall(runtime: SessionRuntimeState) -> tuple[int | None, str]:
    walls = [
        (round(limit * 1000) - usage.active_ms, name)
        for limit, usage, name in (
            (runtime.limits.max_wall_s, runtime.usage, "max_wall_s"),
            (runtime.limits.session_max_wall_s, runtime.session_usage, "session_max_wall_s"),
        )
        if limit is not None
    ]
    return min(walls) if walls else (None, "max_wall_s")


def _figures(usage: RuntimeUsage) -> dict[str, float]:
    return {
        "max_model_turns": usage.model_turns,
        "max_input_tokens": usage.input_tokens,
        "max_output_tokens": usage.output_tokens,
        "max_total_tokens": usage.total_tokens,
        "max_cost_usd": usage.cost_usd,
    }
