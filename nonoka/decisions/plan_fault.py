"""What is wrong in a plan, and where. The checks of a plan give these; who knows the file adds the line."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Collection, Iterator
from typing import NamedTuple

Path = tuple[str | int, ...]
#: Among more names than this only those one typing error away are looked for: comparing each would take minutes.
MANY = 200


class Fault(NamedTuple):
    """``path`` leads from the plan to the place: ("steps", 2, "args", "url"). ``message`` stands for itself."""

    path: Path
    message: str

    def __str__(self) -> str:
        place = written(self.path)
        return f"{place}: {self.message}" if place else self.message


def written(path: Path) -> str:
    """The path as people write it: ``steps[2].args.url``."""
    text = ""
    for segment in path:
        text += f"[{segment}]" if isinstance(segment, int) else f".{segment}" if text else segment
    return text


def nearest(wanted: str, known: Collection[str]) -> str:
    """``; did you mean 'x'?`` where one of the known names is near, else nothing."""
    wanted = wanted[:64]
    if len(known) > MANY:
        index = _by_shortened(frozenset(known))
        near = [index[name] for name in _shortened(wanted) if name in index]
    else:
        near = difflib.get_close_matches(wanted, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


@functools.lru_cache(maxsize=4)
def _by_shortened(known: frozenset[str]) -> dict[str, str]:
    """Each name by what is left without any one character: names one typing error apart share one of these."""
    return {short: name for name in sorted(known, reverse=True) for short in _shortened(name)}


def _shortened(name: str) -> Iterator[str]:
    yield name
    yield from (name[:place] + name[place + 1 :] for place in range(len(name)))
