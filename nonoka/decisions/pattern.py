"""A regular expression that a model wrote, made safe to run in a worker. Used by search.py, json_schema_checker.

It is matched by the ``regex`` library, because that takes a timeout for each match: ``re`` can neither be
interrupted nor ended, and a pattern such as ``(x+x+)+y`` would hold the whole process for ever.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

from nonoka.errors import ToolFailure

#: the library keeps the interpreter's lock while it matches, so this is how long a worker may stand still
MATCH_S = 0.5
MAX_PATTERN = 2_000
#: the library writes {n} out when it compiles, nested ones multiplied: this much takes 0.1 s and 60 MB
MAX_WRITTEN_OUT = 200_000

#: an escape, a set, what would make the count wrong (a group's call of itself, a comment, the x flag), a repeat,
#: or any one character
_TOKEN = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<no>\(\?(?:R|[+-]?\d|&|P>|#|\w*x))|\{(?P<least>\d*),?(?P<most>\d*)\}|.",
    re.DOTALL,
)


class TooSlow(Exception):
    """A match took longer than MATCH_S."""


class Pattern:
    """A pattern that finds, in one line of text. Raises ToolFailure for what isn't one, or would take too much."""

    def __init__(self, text: str) -> None:
        self._search = _compiled(text).search

    def find(self, line: str) -> int | None:
        """Where in the line it first matches. Raises TooSlow."""
        try:
            match = self._search(line, timeout=MATCH_S)
        except (TimeoutError, MemoryError, RecursionError) as error:
            raise TooSlow from error
        return None if match is None else match.start()


def _compiled(text: str) -> Any:
    if len(text) > MAX_PATTERN:
        raise ToolFailure(f"the pattern has {len(text)} characters; at most {MAX_PATTERN} are allowed")
    if _written_out(text) > MAX_WRITTEN_OUT:
        raise ToolFailure("the pattern's repeats {n} multiply to too many; use smaller numbers, or * and +")
    # loaded at the first search: it costs a start 30 ms
    regex = importlib.import_module("regex")
    try:
        return regex.compile(text)
    except regex.error as error:
        raise ToolFailure(f"the pattern {text!r} is not a regular expression: {error}") from error
    except (RecursionError, MemoryError, OverflowError) as error:
        raise ToolFailure(f"the pattern is nested too deeply: {type(error).__name__}") from error


def _written_out(text: str) -> int:
    """At most how many items the pattern has with its repeats written out."""
    sizes, last = [0], 0
    for token in _TOKEN.finditer(text):
        if token["no"]:
            raise ToolFailure(
                f"the pattern has {token['no']!r}: no group calls, comments or x flag can be used here"
            )
        if token[0] == "(":
            sizes.append(0)
        elif token[0] == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        elif token["most"] or token["least"]:
            times = max(1, *(int(number[:9] or 0) for number in token.group("least", "most")))
            sizes[-1] += last * (times - 1)
            last *= times
        else:
            sizes[-1] += 1
            last = 1
    return sum(sizes)
