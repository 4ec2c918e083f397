"""Reads conditions. plan_when.py gives ``parse_when`` to everybody else.

condition  = both { "or" both }          both = negated { "and" negated }
negated    = "not" negated | comparison  comparison = value [ (== | != | < | <= | > | >= | in | not in) value ]
value      = reference | 'text' | number | true | false | null | "[" values "]" | "(" condition ")"
"""

from __future__ import annotations

import json
import re
from typing import Literal

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
from nonoka.decisions.plan_references import parse_reference
from nonoka.errors import ExpressionInvalid

#: Parentheses, lists and nots within one another.
MAX_DEPTH = 50

_TOKEN = re.compile(
    r"\s*(?:(?P<text>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))"
    r"|(?P<word>[^\W\d][\w-]*)|(?P<sign>==|!=|<=|>=|<|>|\(|\)|\[|\]|,)|(?P<reference>\$\{)|(?P<end>\Z))",
    re.DOTALL | re.ASCII,
)
_WORDS: dict[str, JsonValue] = {"true": True, "false": False, "null": None}


def parse_when(text: str) -> Condition:
    """The condition that the text is. Raises ExpressionInvalid, and nothing else, with the place."""
    return _Parser(text).whole()


class _Parser:
    """Reads one condition from left to right, one token ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0
        self._end = 0
        self._advance()

    def whole(self) -> Condition:
        condition = self._junction("or")
        if self._kind != "end":
            raise self._wrong("and, or, a comparison or the end is expected here")
        return condition

    def _junction(self, word: Literal["and", "or"]) -> Condition:
        operands = [self._operand(word)]
        while self._takes("word", word):
            operands.append(self._operand(word))
        return operands[0] if len(operands) == 1 else Junction(word, tuple(operands))

    def _operand(self, word: str) -> Condition:
        return self._junction("and") if word == "or" else self._negated()

    def _negated(self) -> Condition:
        self._deeper()
        condition = Negation(self._negated()) if self._takes("word", "not") else self._comparison()
        self._depth -= 1
        return condition

    def _comparison(self) -> Condition:
        left = self._operand_value()
        operator = self._operator()
        return left if operator is None else Comparison(left, operator, self._operand_value())

    def _operator(self) -> Operator | None:
        if self._kind == "sign" and self._token in ("==", "!=", "<", "<=", ">", ">="):
            found: Operator = self._token  # type: ignore[assignment]
            self._advance()
            return found
        if self._takes("word", "in"):
            return "in"
        if self._takes("word", "not"):
            if not self._takes("word", "in"):
                raise self._wrong("in is expected after not here")
            return "not in"
        return None

    def _operand_value(self) -> Condition:
        kind, token = self._kind, self._token
        if kind == "reference":
            reference, self._end = parse_reference(self._text, self._start)
            self._advance()
            return reference
        if kind == "text":
            self._advance()
            return Constant(re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.DOTALL))
        if kind == "number":
            return Constant(self._number(token))
        if kind == "word" and token in _WORDS:
            self._advance()
            return Constant(_WORDS[token])
        if self._takes("sign", "("):
            return self._closed(self._junction("or"), ")")
        if self._takes("sign", "["):
            return self._listing()
        raise self._wrong("a reference, a text in quotes, a number, true, false or null is expected here")

    def _number(self, token: str) -> JsonValue:
        try:
            value: int | float = json.loads(token)
        except ValueError as error:
            raise self._wrong("a number with too many digits") from error
        if abs(value) == float("inf"):
            raise self._wrong("a number that is too large")
        self._advance()
        return value

    def _listing(self) -> Condition:
        self._deeper()
        items: list[Condition] = []
        while not self._takes("sign", "]"):
            if items and not self._takes("sign", ","):
                raise self._wrong("a comma or ] is expected here")
            items.append(self._operand_value())
        self._depth -= 1
        return Listing(tuple(items))

    def _closed(self, condition: Condition, sign: str) -> Condition:
        if not self._takes("sign", sign):
            raise self._wrong(f"{sign} is expected here")
        return condition

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._wrong(f"more than {MAX_DEPTH} levels within one another")

    def _takes(self, kind: str, token: str) -> bool:
        taken = (self._kind, self._token) == (kind, token)
        if taken:
            self._advance()
        return taken

    def _advance(self) -> None:
        match = _TOKEN.match(self._text, self._end)
        if match is None:
            while self._text[self._end : self._end + 1].isspace():
                self._end += 1
            raise ExpressionInvalid(_unreadable(self._text[self._end :]), self._end)
        self._kind = match.lastgroup or "end"
        self._token = match.group(self._kind)
        self._start, self._end = match.start(self._kind), match.end()

    def _wrong(self, message: str) -> ExpressionInvalid:
        if self._kind == "word" and self._token not in ("and", "or", "not", "in"):
            message += f"; a text stands in quotes: '{self._token}'; a step's value is ${{{self._token}}}"
        return ExpressionInvalid(message, self._start)


def _unreadable(rest: str) -> str:
    if rest[:1] in "\"'":
        return "a text whose quote is not closed"
    hint = "; equal is ==" if rest.startswith("=") else "; write and" if rest.startswith("&") else ""
    return f"{rest[:8]!r} can't be read{hint}"
