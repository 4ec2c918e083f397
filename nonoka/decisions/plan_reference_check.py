"""Whether the references in a plan lead somewhere. Used by plan_check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from nonoka.decisions.plan_fault import Fault, Path, nearest
from nonoka.decisions.plan_references import INDEX, INPUTS, ITEM, Reference, parse_text
from nonoka.decisions.plan_when import parse_when, references_of
from nonoka.errors import ExpressionInvalid
from nonoka.records.plan import Step

#: Where a step's values hold references; ``when`` is a condition and looked at by itself.
_FIELDS = ("args", "prompt", "task", "output", "for_each")


@dataclass(frozen=True, slots=True)
class Known:
    """The names that references may begin with."""

    steps: frozenset[str]
    finally_steps: frozenset[str]
    inputs: frozenset[str]


def reference_faults(
    holder: Step | dict[str, JsonValue], place: Path, known: Known, in_finally: bool
) -> Iterator[Fault]:
    """The references of a step's values, or of the plan's outputs, that can't be read or lead nowhere."""
    who = f"step {holder.id!r}" if isinstance(holder, Step) else "outputs"
    values: dict[str, JsonValue] = (
        {field: getattr(holder, field) for field in _FIELDS} if isinstance(holder, Step) else holder
    )
    for field, value in values.items():
        fans = isinstance(holder, Step) and holder.for_each is not None and field != "for_each"
        for path, found in _texts(value, (*place, field)):
            for message in _text_faults(found, known, in_finally, fans):
                yield Fault(path, f"{who}: {message}")


def when_faults(step: Step, place: Path, known: Known, in_finally: bool) -> Iterator[Fault]:
    """Why the step's ``when`` can't be read, or which of its references lead nowhere."""
    if step.when is None:
        return
    where = (*place, "when")
    try:
        condition = parse_when(step.when)
    except ExpressionInvalid as error:
        yield Fault(where, f"step {step.id!r}: when: {error}")
        return
    for reference in references_of(condition):
        wrong = _reference_fault(reference, known, in_finally, fans=False)
        if wrong and step.for_each is not None and reference.head in (ITEM, INDEX):
            wrong = f"{reference}: when is asked once, before the step fans out"
        if wrong:
            yield Fault(where, f"step {step.id!r}: when: {wrong}")


def _texts(value: JsonValue, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        if "${" in value:
            yield path, value
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _texts(item, (*path, place))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*path, key))


def _text_faults(text: str, known: Known, in_finally: bool, fans: bool) -> Iterator[str]:
    try:
        parts = parse_text(text)
    except ExpressionInvalid as error:
        yield str(error)
        return
    for part in parts:
        wrong = _reference_fault(part, known, in_finally, fans) if isinstance(part, Reference) else None
        if wrong:
            yield wrong


def _reference_fault(reference: Reference, known: Known, in_finally: bool, fans: bool) -> str | None:
    head = reference.head
    if head in (ITEM, INDEX):
        return None if fans else f"{reference}: {head} is known only in a step with for_each"
    if head == INPUTS:
        return _input_fault(reference, known)
    if head in known.steps or (in_finally and head in known.finally_steps):
        return None
    if head in known.finally_steps:
        return f"{reference}: {head!r} is a finally step, which runs after all others"
    names = known.steps | known.finally_steps if in_finally else known.steps
    hint = nearest(head, names) or "; for a literal ${ write $${"
    return f"{reference}: there is no step {head!r}{hint}"


def _input_fault(reference: Reference, known: Known) -> str | None:
    name = reference.path[0] if reference.path else None
    if name is None or name in known.inputs:
        return None
    there = f"; its inputs are {', '.join(sorted(known.inputs))}" if known.inputs else "; it declares none"
    return f"{reference}: the plan has no input {name!r}{nearest(str(name), known.inputs) or there}"
