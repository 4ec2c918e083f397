"""Plan files: YAML or JSON text in, a checked plan out, or every error with its line. Callers read the file.

Importing this loads YAML, so nothing imports it at the top of a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from nonoka.agents.marked_yaml import Document, read_document
from nonoka.agents.plan_document import PlanInFile, RetryInFile, StepInFile, as_plan
from nonoka.decisions.plan_check import AgentComplaint, KnownTools, check_plan
from nonoka.decisions.plan_fault import Fault, Path, nearest, written
from nonoka.errors import PlanInvalid
from nonoka.records.plan import Plan, PlanInput

#: What other systems call it.
_ELSEWHERE = {
    "needs": "depends_on",
    "dependencies": "depends_on",
    "after": "depends_on",
    "if": "when",
    "condition": "when",
    "with": "args",
    "params": "args",
    "arguments": "args",
    "loop": "for_each",
    "foreach": "for_each",
    "with_items": "for_each",
    "retries": "retry",
    "continue_on_error": "on_failure",
    "uses": "tool",
    "variables": "inputs",
    "tasks": "steps",
    "always": "finally",
}
_STEP_LISTS = ("steps", "finally")
#: the members that say what a step does
_DOES = ("tool", "prompt", "agent", "task")


def plan_from_text(
    text: str, name: str, tools: KnownTools | None = None, agents: AgentComplaint | None = None
) -> Plan:
    """The plan in the text of the file ``name``, checked as ``check_plan`` does.

    Raises PlanInvalid with all that is wrong, each as ``name:line: message``, in the order of the lines.
    """
    document = read_document(text, name)
    if not isinstance(document.value, dict):
        raise PlanInvalid([f"{document.place(())}: a plan is an object with name and steps"])
    plan, faults = _validated(document.value)
    if plan is not None:
        faults = [*faults, *_further(check_plan(plan, tools, agents), faults)]
    if faults or plan is None:
        raise PlanInvalid(_told(document, faults))
    return plan


def values_from_text(text: str, name: str) -> dict[str, JsonValue]:
    """The values of inputs by name, from the text of an input file. Raises PlanInvalid."""
    document = read_document(text, name)
    if not isinstance(document.value, dict):
        raise PlanInvalid([f"{document.place(())}: an input file is an object: the inputs by name"])
    return document.value


def _validated(value: dict[str, JsonValue]) -> tuple[Plan | None, list[Fault]]:
    """The plan, without what is malformed in it where there is something; and what is."""
    try:
        return as_plan(PlanInFile.model_validate(value)), []
    except ValidationError as error:
        faults = [_fault(detail, value) for detail in error.errors(include_url=False)]
    try:
        return as_plan(PlanInFile.model_validate(_without(value, [fault.path for fault in faults]))), faults
    except ValidationError:
        return None, faults


def _without(value: dict[str, JsonValue], paths: Iterable[Path]) -> dict[str, JsonValue]:
    """The document without the members that are malformed, so that the rest can be checked as well."""
    found: dict[str, Any] = {"name": "-", "steps": [], **value}
    for key in _STEP_LISTS:
        if isinstance(found.get(key), list):
            found[key] = [
                {"id": f"step-{place}", **step} if isinstance(step, dict) else {"id": f"step-{place}"}
                for place, step in enumerate(found[key])
            ]
    if isinstance(found.get("inputs"), dict):
        found["inputs"] = dict(found["inputs"])
    for path in paths:
        match path:
            case (str(key), int(place), str(member), *_) if key in _STEP_LISTS:
                found[key][place].pop(member, None)
                found[key][place].setdefault("id", f"step-{place}")
            case ("inputs", str(name), *_):
                found["inputs"][name] = {}
            case ("steps",):
                found["steps"] = []
            case ("name",):
                found["name"] = "-"
            case (str(key),):
                found.pop(key, None)
    return found


def _further(found: Iterable[Fault], known: list[Fault]) -> Iterator[Fault]:
    """What the check found beyond what is malformed, for a part that was left out is missed elsewhere."""
    malformed = [fault.path for fault in known]
    doing_nothing = {path[:2] for path in malformed if path[2:] and nearest(str(path[2]), _DOES)}
    not_steps = {path for path in malformed if len(path) == 2}
    for fault in found:
        if fault.path[:2] in not_steps or (len(fault.path) == 2 and fault.path in doing_nothing):
            continue
        if not any(fault.path[: len(path)] == path for path in malformed):
            yield fault


def _fault(detail: ErrorDetails, value: JsonValue) -> Fault:
    path = detail["loc"]
    return Fault(path, f"{_whose(path, value)}{_message(detail, path)}")


def _message(detail: ErrorDetails, path: Path) -> str:
    member = written(path[2:] if path[0] in _STEP_LISTS and len(path) > 1 else path)
    match detail["type"]:
        case "missing":
            return f"{str(detail['loc'][-1])!r} is missing"
        case "extra_forbidden":
            return f"there is no key {str(path[-1])!r} here{_other_key(path)}"
        case "value_error":
            return f"{member}: {detail['ctx']['error']}"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"{member}: is {_shown(detail['input'])}, where an object is asked for".removeprefix(": ")
        case "tuple_type":
            return f"{member}: is {_shown(detail['input'])}, where a list is asked for"
    said = detail["msg"].removeprefix("Input ")
    return f"{member}: {said}, not {_shown(detail['input'])}"


def _other_key(path: Path) -> str:
    match path:
        case ("inputs", _, _):
            known = set(PlanInput.model_fields)
        case (_, _, "retry", _):
            known = _keys(RetryInFile)
        case (_, _, _):
            known = _keys(StepInFile)
        case _:
            known = _keys(PlanInFile)
    key = str(path[-1])
    if (meant := _ELSEWHERE.get(key.lower())) in known:
        return f"; did you mean {meant!r}?"
    return nearest(key, known) or f"; the keys are {', '.join(sorted(known))}"


def _keys(model: type[PlanInFile | StepInFile | RetryInFile]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def _whose(path: Path, value: JsonValue) -> str:
    if len(path) < 2 or path[0] not in _STEP_LISTS:
        return ""
    steps = value.get(str(path[0])) if isinstance(value, dict) else None
    step = steps[path[1]] if isinstance(steps, list) and isinstance(path[1], int) else None
    called = step.get("id") if isinstance(step, dict) else None
    return f"step {called!r}: " if isinstance(called, str) else f"{written(path[:2])}: "


def _told(document: Document, faults: list[Fault]) -> list[str]:
    def line(fault: Fault) -> int:
        return int(document.place(fault.path).rpartition(":")[2])

    return [f"{document.place(fault.path)}: {fault.message}" for fault in sorted(faults, key=line)]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
