"""What a plan file may hold: the records, with the short forms that people write. plan_file.py uses this.

The published JSON Schema (docs/plan.schema.json) is generated from these models.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict

from nonoka.agents.schema import argument_schema
from nonoka.decisions.plan_references import as_text
from nonoka.records.base import JsonObject
from nonoka.records.plan import Plan, PlanInput, Retry, Step

#: What editors show of a key; those that are written differently in a file say it where they are declared.
_OF_PLANS = {
    "name": "What the plan is called.",
    "outputs": "The plan's result: values with references, by name. Default: what the last steps brought, by id.",
    "max_parallel": "How many steps may run at once.",
}
_OF_STEPS = {
    "id": "Unique in the plan: A-Z a-z 0-9 _ -, a letter or _ first; references name it.",
    "name": "What people are told that it does.",
    "tool": "A built-in tool, or one of the session's agent.",
    "args": "The tool's arguments; they may hold references such as ${step.path}.",
    "prompt": "Asked of the session's model; it may hold references.",
    "output": "A JSON Schema that the answer to the prompt must fit.",
    "agent": "default, MODULE:NAME or FILE.py:NAME; it works in a session of its own.",
    "task": "What the agent is asked to do; it may hold references.",
    "for_each": "A list, or a reference to one: the step is done once for each ${item}.",
    "max_parallel": "With for_each: how many items may be worked on at once.",
    "on_failure": "fail: the plan fails. continue: dependents run, with null. skip: dependents are skipped.",
    "effect": "What the tool changes here, if it is less than the tool itself says.",
}
_DOES_ONE_THING: JsonDict = {
    "oneOf": [{"required": ["tool"]}, {"required": ["prompt"]}, {"required": ["agent", "task"]}]
}

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?")


def _explained(words: dict[str, str], more: JsonDict | None = None) -> Callable[[JsonDict], None]:
    def explain(schema: JsonDict) -> None:
        properties = schema["properties"]
        for key, text in words.items():
            member = properties[key] if isinstance(properties, dict) else None
            if isinstance(member, dict):
                member["description"] = text
        schema.update(more or {})

    return explain


def _listed(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


def _seconds(given: Any) -> Any:
    """A number of seconds, or a text such as 90s, 5m, 1h30m, 500ms."""
    if isinstance(given, bool):
        raise ValueError("is a number of seconds, or a text such as 90s, 5m, 1h30m")
    if not isinstance(given, str):
        return given
    match = _DURATION.fullmatch(given)
    if match is None or not given:
        raise ValueError(f"{given!r} is no duration; write seconds, or 90s, 5m, 1h30m")
    hours, minutes, seconds, thousandths = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000


def _condition(given: Any) -> Any:
    return as_text(given) if isinstance(given, (bool, int, float)) else given


def _attempts(given: Any) -> Any:
    return {"attempts": given} if isinstance(given, int) and not isinstance(given, bool) else given


def _typed(given: Any) -> Any:
    return {"type": given} if isinstance(given, str) else {} if given is None else given


Names = Annotated[tuple[str, ...], BeforeValidator(_listed, json_schema_input_type=str | list[str])]
_Seconds = BeforeValidator(_seconds, json_schema_input_type=float | str)


class RetryInFile(Retry):
    """How often a step is tried: a number of attempts, or these members."""

    model_config = ConfigDict(validate_by_name=True)

    backoff_s: Annotated[float, Field(ge=0), _Seconds] = Field(
        default=1.0,
        alias="backoff",
        description="The wait before another attempt, as timeout is written.",
    )
    on: Names = Field(default=(), description="Error types; empty is any.")


class StepInFile(Step):
    """A node of the plan: exactly one of tool, prompt and agent says what it does."""

    model_config = ConfigDict(validate_by_name=True, json_schema_extra=_explained(_OF_STEPS, _DOES_ONE_THING))

    depends_on: Names = Field(default=(), description="Step ids; with ? at the end: after it, however it ended.")
    when: Annotated[str | None, BeforeValidator(_condition, json_schema_input_type=str | bool | None)] = Field(
        default=None, description="A condition; the step is skipped where it doesn't hold."
    )
    retry: Annotated[RetryInFile, BeforeValidator(_attempts, json_schema_input_type=int | RetryInFile)] = Field(
        default=RetryInFile()
    )
    timeout_s: Annotated[Annotated[float, Field(gt=0)] | None, _Seconds] = Field(
        default=None, alias="timeout", description="For one attempt: seconds, or a text such as 90s, 5m, 1h30m."
    )


InputInFile = Annotated[PlanInput, BeforeValidator(_typed, json_schema_input_type=str | PlanInput | None)]


class PlanInFile(Plan):
    """A plan, as its file holds it."""

    model_config = ConfigDict(validate_by_name=True, json_schema_extra=_explained(_OF_PLANS))

    inputs: dict[str, InputInFile] = Field(default={}, description="Values given when the plan starts.")
    steps: tuple[StepInFile, ...] = Field(description="The steps; references and depends_on give their order.")
    finally_steps: tuple[StepInFile, ...] = Field(
        default=(), alias="finally", description="Steps that run when all the others have ended, however."
    )


def as_plan(found: PlanInFile) -> Plan:
    """The record that is stored."""
    return Plan.model_validate(found.model_dump(by_alias=False))


def document_of(plan: Plan) -> JsonObject:
    """The plan as a file would hold it; ``plan_from_text`` reads it back as the same plan."""
    found: JsonObject = plan.model_dump(mode="json", exclude_defaults=True)
    if "finally_steps" in found:
        found["finally"] = found.pop("finally_steps")
    return found


def plan_schema() -> JsonObject:
    """The JSON Schema of plan files, as editors use it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **argument_schema(PlanInFile)}
