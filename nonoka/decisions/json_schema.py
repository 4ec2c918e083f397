"""Whether a value fits a JSON Schema (Draft 2020-12), and whether a schema is one. Plans and their answers ask.

The work is the jsonschema library's. It costs a start 80 ms, and most processes never see a schema to check: so
this loads what imports it (json_schema_checker, json_schema_check, json_schema_words) when it is first asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nonoka.decisions.pattern import MATCH_S, TooSlow
from nonoka.decisions.plan_fault import Fault, Path


@dataclass(frozen=True, slots=True)
class Open:
    """A value not known yet, because a reference will bring it; with ``is_text`` it will be a string."""

    is_text: bool = False


def mismatches(value: Any, schema: object, path: Path = (), *, formats: bool = True) -> list[Fault]:
    """Where the value doesn't fit the schema, and why; empty if it does, or may once what is ``Open`` is known.

    The schema is one in which ``schema_faults`` finds nothing. Without ``formats`` the keyword ``format`` is not
    looked at. A value, or a schema's loop, that goes too deep to be followed is one fault; a pattern that takes
    too long to match is one too.
    """
    from nonoka.decisions.json_schema_checker import checker  # noqa: PLC0415 loads jsonschema
    from nonoka.decisions.json_schema_words import faults_of  # noqa: PLC0415 loads jsonschema

    try:
        return faults_of(checker(schema, formats=formats).iter_errors(value), path)
    except RecursionError:
        return [Fault(path, "goes deeper than can be checked")]
    except TooSlow as slow:
        return [
            Fault(path, f"the pattern {slow.args[0]!r} takes longer than {MATCH_S:g} s to be looked for in it")
        ]


def schema_faults(schema: object, path: Path = ()) -> list[Fault]:
    """What is wrong with the schema itself; empty if nothing is.

    What is malformed is told first and alone; then what leads nowhere, or to itself, or could fit no value.
    """
    from nonoka.decisions.json_schema_check import malformed, senseless  # noqa: PLC0415 loads jsonschema

    try:
        return malformed(schema, path) or senseless(schema, path)
    except RecursionError:
        return [Fault(path, "goes deeper than can be checked")]
