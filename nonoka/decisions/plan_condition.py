"""What a condition (``when``) is once it has been read: plan_when_parser makes these, plan_when evaluates them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from nonoka.decisions.plan_references import Reference

Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"]


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class Listing:
    """A list written in the condition."""

    items: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """True where its operand isn't."""

    operand: Condition


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two values compared."""

    left: Condition
    operator: Operator
    right: Condition


@dataclass(frozen=True, slots=True)
class Junction:
    """Operands joined by one word; what decides first ends it."""

    word: Literal["and", "or"]
    operands: tuple[Condition, ...]


Condition = Constant | Reference | Listing | Negation | Comparison | Junction
