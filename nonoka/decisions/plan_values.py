"""What no store can hold: checked in a plan's values and inputs before either is stored."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pydantic import JsonValue

from nonoka.decisions.plan_fault import Path

#: Beyond so many bits Python refuses to write a number in digits, and to read it.
MAX_BITS = 14_000


def unstorable(value: JsonValue, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Each place in the value that JSON in UTF-8 can't hold, and why."""
    if isinstance(value, str):
        if why := _wrong_in_text(value):
            yield path, why
    elif isinstance(value, dict):
        for key, item in value.items():
            if why := _wrong_in_text(key):
                yield path, f"has a key that {why}"
            yield from unstorable(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from unstorable(item, (*path, place))
    elif isinstance(value, float) and not math.isfinite(value):
        yield path, f"is {value}, which is no number in JSON"
    elif isinstance(value, int) and value.bit_length() > MAX_BITS:
        yield path, "is a number of too many digits; give it as text"


def _wrong_in_text(text: str) -> str | None:
    if "\0" in text:
        return "holds NUL, which no text may"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "is no UTF-8 text"
    return None
