"""Which lines of a text are most like some others. Used by editing.py, to say what was probably meant."""

from __future__ import annotations

import heapq
from difflib import SequenceMatcher

#: bounds on what is compared, so that a text of a million lines takes a second and not an hour
MAX_LINES = 50_000
MAX_WIDTH = 200
COMPARED_CLOSELY = 200
MAX_BLOCK = 20
MAX_PLACES = 3
#: less alike than this is something else; and so is what is so much less alike than the best
LEAST_RATIO = 0.5
MARGIN = 0.15


def near_misses(text: str, wanted: str) -> str:
    """The places of a text that are most like the wanted one, with line numbers; empty if nothing is."""
    lines = [line.removesuffix("\r") for line in text.split("\n")[:MAX_LINES]]
    block = wanted.replace("\r\n", "\n").strip("\n").split("\n")
    places = _places(lines, block)
    return "\n--\n".join(_shown(lines, place, block) for place in places)


def _places(lines: list[str], block: list[str]) -> list[int]:
    """The first lines (from 0) of the blocks most like this one, in the order of the text."""
    anchor = max(range(len(block)), key=lambda place: len(block[place].strip()))
    alike = _alike({line.strip()[:MAX_WIDTH] for line in lines}, block[anchor].strip()[:MAX_WIDTH])
    found = [place - anchor for place, line in enumerate(lines) if alike.get(line.strip()[:MAX_WIDTH])]
    likely = heapq.nlargest(
        COMPARED_CLOSELY, found, key=lambda place: alike[lines[place + anchor].strip()[:MAX_WIDTH]]
    )
    judged = [(_likeness(lines, place, block), place) for place in likely]
    least = max(LEAST_RATIO, max(judged)[0] - MARGIN) if judged else LEAST_RATIO
    return sorted(place for ratio, place in heapq.nlargest(MAX_PLACES, judged) if ratio >= least)


def _alike(lines: set[str], wanted: str) -> dict[str, float]:
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    likely = []
    for line in lines:
        matcher.set_seq1(line)
        if matcher.real_quick_ratio() >= LEAST_RATIO and (ratio := matcher.quick_ratio()) >= LEAST_RATIO:
            likely.append((ratio, line))
    close = heapq.nlargest(COMPARED_CLOSELY, likely)
    return {line: ratio for _, line in close if (ratio := _ratio(line, wanted)) >= LEAST_RATIO}


def _likeness(lines: list[str], place: int, block: list[str]) -> float:
    """How alike the block and the lines from there on are, 0 to 1; space between words counts little."""
    pairs = [
        (lines[place + n] if 0 <= place + n < len(lines) else "", line) for n, line in enumerate(block[:MAX_BLOCK])
    ]
    return sum(_ratio(" ".join(one.split()), " ".join(other.split())) for one, other in pairs) / len(pairs)


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one[:MAX_WIDTH], other[:MAX_WIDTH], autojunk=False).ratio()


def _shown(lines: list[str], place: int, block: list[str]) -> str:
    first = max(0, place)
    there = lines[first : place + min(len(block), MAX_BLOCK)]
    # written as in Python where only spaces and tabs differ: they would look the same
    only_space = [line.split() for line in there] == [line.split() for line in block]
    numbered = [
        f"{number}: {line[:MAX_WIDTH]!r}" if only_space else f"{number}: {line[:MAX_WIDTH]}"
        for number, line in enumerate(there, first + 1)
    ]
    return "\n".join([*numbered, *(["(only the whitespace differs here)"] if only_space else [])])
