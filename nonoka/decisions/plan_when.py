"""``when``: a condition over references, and whether it holds. The engine and check_plan call this."""

from __future__ import annotations

import json

from pydantic import JsonValue

from nonoka.decisions.plan_condition import (
    Comparison,
    Condition,
    Constant,
    Junction,
    Listing,
    Negation,
    Operator,
)
from nonoka.decisions.plan_references import Lookup, Reference, value_of
from nonoka.decisions.plan_when_parser import parse_when
from nonoka.errors import ValueMissing

__all__ = ["Condition", "evaluate", "parse_when", "references_of", "same"]


def references_of(condition: Condition) -> tuple[Reference, ...]:
    """Each reference in the condition, in order."""
    if isinstance(condition, Reference):
        return (condition,)
    return tuple(found for part in _parts(condition) for found in references_of(part))


def evaluate(condition: Condition, lookup: Lookup) -> bool:
    """Whether the condition holds. A value alone holds unless it is null, false, 0 or empty.

    Raises ValueMissing where a path finds nothing, or where what is compared can't be.
    """
    return bool(_value(condition, lookup))


def _parts(condition: Condition) -> tuple[Condition, ...]:
    match condition:
        case Listing(items):
            return items
        case Negation(operand):
            return (operand,)
        case Comparison(left, _, right):
            return (left, right)
        case Junction(_, operands):
            return operands
    return ()


def _value(condition: Condition, lookup: Lookup) -> JsonValue:
    match condition:
        case Constant(value):
            return value
        case Reference():
            return value_of(condition, lookup)
        case Listing(items):
            return [_value(item, lookup) for item in items]
        case Negation(operand):
            return not _value(operand, lookup)
        case Comparison(left, operator, right):
            return _compared(_value(left, lookup), operator, _value(right, lookup))
        case Junction("and", operands):
            return all(_value(operand, lookup) for operand in operands)
        case Junction(_, operands):
            return any(_value(operand, lookup) for operand in operands)


def _compared(left: JsonValue, operator: Operator, right: JsonValue) -> bool:
    match operator:
        case "==":
            return same(left, right)
        case "!=":
            return not same(left, right)
        case "in":
            return _contains(right, left)
        case "not in":
            return not _contains(right, left)
    return _ordered(left, operator, right)


def same(left: JsonValue, right: JsonValue) -> bool:
    """Whether two JSON values are equal; 1 and 1.0 are, true and 1 are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    return left == right


def _contains(container: JsonValue, wanted: JsonValue) -> bool:
    if container is None:
        return False
    if isinstance(container, list):
        return any(same(item, wanted) for item in container)
    if isinstance(container, (str, dict)) and isinstance(wanted, str):
        return wanted in container
    raise ValueMissing(f"when: {_shown(wanted)} can't be looked for in {_shown(container)}")


def _ordered(left: JsonValue, operator: str, right: JsonValue) -> bool:
    if left is None or right is None:
        return False
    if isinstance(left, str) and isinstance(right, str):
        return _holds(operator, (left > right) - (left < right))
    if _is_number(left) and _is_number(right):
        return _holds(operator, (left > right) - (left < right))  # type: ignore[operator]
    raise ValueMissing(
        f"when: {_shown(left)} {operator} {_shown(right)}: only two numbers or two texts have an order"
    )


def _holds(operator: str, order: int) -> bool:
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[operator]


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"
