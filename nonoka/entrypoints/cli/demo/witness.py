"""What really ran, by the account of the commands themselves: an oracle outside of store and workspaces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_LINE = re.compile(r"(began|done) (\S+)#(\d+) (\d+)")


@dataclass(frozen=True, slots=True)
class Witnessed:
    """A command began, or was carried through; ``attempt`` is which attempt of the call with that key.

    ``unclear`` is a line that no command of the demo wrote; it is in ``key`` as it is.
    """

    what: Literal["began", "done", "unclear"]
    key: str
    attempt: int = 0
    pid: int = 0


def read_witness(text: str) -> tuple[Witnessed, ...]:
    """The lines, in their order."""
    return tuple(_read_line(line) for line in text.splitlines())


def _read_line(line: str) -> Witnessed:
    found = _LINE.fullmatch(line)
    if found is None:
        return Witnessed("unclear", line)
    what, key, attempt, pid = found.groups()
    return Witnessed("began" if what == "began" else "done", key, int(attempt), int(pid))
