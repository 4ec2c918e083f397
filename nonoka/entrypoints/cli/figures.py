"""Figures as people read them: times, ages, tokens."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

from nonoka.records.runtime import RuntimeUsage

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def seconds(ms: int) -> str:
    """A length of time: ``0.1 s``, ``42 s``, ``3 min 20 s``."""
    if ms < 10_000:
        return f"{max(0, ms) / 1000:.1f} s"
    minutes, rest = divmod(round(ms / 1000), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def age(ms: int) -> str:
    """How long ago, in its largest unit: ``5 s``, ``3 min``, ``2 h``, ``9 d``."""
    whole = max(0, ms) // 1000
    for size, unit in _UNITS:
        if whole >= size:
            return f"{whole // size} {unit}"
    return f"{whole} s"


def clock_time(ms: int) -> str:
    """A moment in this machine's time zone."""
    return datetime.fromtimestamp(ms / 1000, tz=UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def tokens(usage: RuntimeUsage) -> str:
    """Tokens in and out together; ``~`` where any of it is estimated."""
    return f"{'~' if usage.estimated else ''}{usage.total_tokens:,} tokens"


def cost(usage: RuntimeUsage) -> list[str]:
    """What it cost, in one figure; none where it cost nothing. A part whose price nobody knows is said."""
    known = f"${usage.cost_usd:.4f}" if usage.cost_usd else ""
    if usage.cost_unknown:
        return [f"{known} and an unknown part" if known else "cost unknown"]
    return [known] if known else []


def size(number: int) -> str:
    """Bytes: ``812 bytes``, ``1.2 MB``."""
    for unit, name in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if number >= unit:
            return f"{number / unit:.1f} {name}"
    return counted(number, "byte")


def counted(number: int, one: str) -> str:
    """``1 turn``, ``3 turns``."""
    return f"{number} {one}" if number == 1 else f"{number} {one}s"


def shortened(text: str, length: int) -> str:
    """The text in one line of at most that many characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def fitted(text: str, columns: int) -> str:
    """As much of the text as fits into so many columns of a terminal."""
    if width(text) <= columns:
        return text
    kept = ""
    for character in text:
        if width(kept + character) > columns - 1:
            break
        kept += character
    return kept + "…"


def width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def printable(text: str) -> str:
    """The text without what could steer a terminal: other people's words are shown, not obeyed."""
    return "".join(c if c in "\n\t" or c.isprintable() else "�" for c in text.replace("\r\n", "\n"))
