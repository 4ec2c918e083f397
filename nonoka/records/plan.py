"""A plan: what its steps are and how they hang together. What became of them is in ``step_run``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, JsonValue, model_validator

from nonoka.records.base import JsonObject, Record
from nonoka.records.tool import Effect

#: What a step's failure means for the plan. ``fail``: nothing new begins, and the plan fails. ``continue``: its
#: dependents run, and its result is null. ``skip``: its dependents are skipped, and the plan can still complete.
OnFailure = Literal["fail", "continue", "skip"]


class Retry(Record):
    """How often a step is tried. ``attempts`` counts the first one; ``on`` names error types, empty is any."""

    attempts: int = Field(default=1, ge=1, le=100)
    backoff_s: float = Field(default=1.0, ge=0)
    on: tuple[str, ...] = ()


class Step(Record):
    """A node of the DAG: exactly one of ``tool``, ``prompt`` and ``agent`` says what it does.

    Values may hold references (``${step.path}``, ``${inputs.name}``, in a fan-out ``${item}``, ``${index}``).
    ``for_each`` fans the step out over a list; ``max_parallel`` then limits how many items run at once.
    ``when`` is a reference or a comparison. ``timeout_s`` is seconds for one attempt.
    """

    id: str
    name: str | None = None
    tool: str | None = None
    args: JsonObject = {}
    prompt: str | None = None
    output: JsonObject | None = None
    agent: str | None = None
    task: str | None = None
    depends_on: tuple[str, ...] = ()
    when: str | None = None
    for_each: JsonValue = None
    max_parallel: int | None = Field(default=None, ge=1)
    on_failure: OnFailure = "fail"
    retry: Retry = Retry()
    timeout_s: float | None = Field(default=None, gt=0)
    effect: Effect | None = None

    @property
    def kind(self) -> Literal["tool", "prompt", "agent"]:
        """What the step does."""
        return "tool" if self.tool is not None else "prompt" if self.prompt is not None else "agent"


class PlanInput(Record):
    """A value given when the plan starts. Without a default it must be given, unless ``required`` says no."""

    type: Literal["string", "integer", "number", "boolean", "list", "object", "any"] = "any"
    default: JsonValue = None
    required: bool = True
    description: str = ""

    @model_validator(mode="before")
    @classmethod
    def _is_optional_with_a_default(cls, given: Any) -> Any:
        if isinstance(given, dict) and "default" in given:
            return {"required": False, **given}
        return given


class Plan(Record):
    """A plan as its author wrote it, checked. ``finally_steps`` run when all the others have ended, however.

    ``outputs`` are values with references, the result of the plan; empty: the results of the steps that no
    other step depends on, by id.
    """

    name: str
    inputs: dict[str, PlanInput] = {}
    steps: tuple[Step, ...]
    finally_steps: tuple[Step, ...] = ()
    outputs: dict[str, JsonValue] = {}
    max_parallel: int | None = Field(default=None, ge=1)
