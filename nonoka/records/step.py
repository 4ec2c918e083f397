"""How one attempt of a plan's step ended."""

from __future__ import annotations

from pydantic import JsonValue

from nonoka.records.base import Record
from nonoka.records.runtime import RuntimeUsage


class StepError(Record):
    """Why an attempt failed. ``raised`` is the type of the exception that a tool raised, where it raised one."""

    error_type: str
    message: str
    traceback: str = ""
    raised: str | None = None
    usage: RuntimeUsage = RuntimeUsage()


class StepValueGot(Record):
    """What an attempt brought, and what it cost."""

    value: JsonValue
    usage: RuntimeUsage = RuntimeUsage()


StepOutcome = StepError | StepValueGot
