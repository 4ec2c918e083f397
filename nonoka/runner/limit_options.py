"""The limits as keyword arguments, and what is left of them once they are checked."""

from __future__ import annotations

from typing import Any, TypedDict

from pydantic import ValidationError

from nonoka.errors import UsageError
from nonoka.records.runtime import RuntimeLimits


class LimitOptions(TypedDict, total=False):
    """The fields of ``RuntimeLimits``; None is no limit, and what is left out is as the agent says."""

    max_model_turns: int | None
    max_tool_calls: int | None
    max_wall_s: float | None
    max_input_tokens: int | None
    max_output_tokens: int | None
    max_total_tokens: int | None
    max_cost_usd: float | None
    session_max_model_turns: int | None
    session_max_tool_calls: int | None
    session_max_wall_s: float | None
    session_max_input_tokens: int | None
    session_max_output_tokens: int | None
    session_max_total_tokens: int | None
    session_max_cost_usd: float | None


def checked(limits: LimitOptions) -> dict[str, Any]:
    """The same limits, each of which exists and can be. Raises UsageError."""
    try:
        return RuntimeLimits.model_validate(limits).model_dump(exclude_unset=True)
    except ValidationError as error:
        first = error.errors()[0]
        name = first["loc"][0]
        if first["type"] == "extra_forbidden":
            known = ", ".join(RuntimeLimits.model_fields)
            raise UsageError(f"no option or limit is called {name!r}; the limits: {known}") from None
        raise UsageError(f"limit {name!r}: {first['msg']}, not {first['input']!r}") from None
