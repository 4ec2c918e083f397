"""nonoka: durable agent sessions. Kill any process at any instant, and the work goes on.

Names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nonoka.agents.agent import Agent
    from nonoka.agents.context import ToolContext
    from nonoka.agents.happened import Happened
    from nonoka.agents.tool import tool
    from nonoka.decisions.plan_references import ref
    from nonoka.errors import NonokaError, PlanInvalid, ToolFailure
    from nonoka.records.plan import Plan, PlanInput, Retry, Step
    from nonoka.records.runtime import RuntimeLimits
    from nonoka.records.tool import Effect
    from nonoka.runner import Runner, RunResult

__version__ = "2.0.0.dev0"

_HOMES = {
    "Agent": "nonoka.agents.agent",
    "Effect": "nonoka.records.tool",
    "Happened": "nonoka.agents.happened",
    "NonokaError": "nonoka.errors",
    "Plan": "nonoka.records.plan",
    "PlanInput": "nonoka.records.plan",
    "PlanInvalid": "nonoka.errors",
    "Retry": "nonoka.records.plan",
    "RunResult": "nonoka.runner",
    "Runner": "nonoka.runner",
    "RuntimeLimits": "nonoka.records.runtime",
    "Step": "nonoka.records.plan",
    "ToolContext": "nonoka.agents.context",
    "ToolFailure": "nonoka.errors",
    "ref": "nonoka.decisions.plan_references",
    "tool": "nonoka.agents.tool",
}

__all__ = [
    "Agent",
    "Effect",
    "Happened",
    "NonokaError",
    "Plan",
    "PlanInput",
    "PlanInvalid",
    "Retry",
    "RunResult",
    "Runner",
    "RuntimeLimits",
    "Step",
    "ToolContext",
    "ToolFailure",
    "ref",
    "tool",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'nonoka' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
