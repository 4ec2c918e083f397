"""What worker processes tell their supervisor for the metrics, and the pipe that carries it.

All processes write into one pipe, which outlives each of them: what a worker has told stays told when it dies.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

What = Literal["claim", "retry", "death", "recovery", "task", "call"]

#: While the supervisor does not read (it is frozen), a worker keeps so many facts; older ones are lost.
_MOST_UNSENT = 10_000
#: What the pipe takes in one piece, whoever else writes (PIPE_BUF is 4096).
_LONGEST_NAME = 200


class Fact(NamedTuple):
    """Something that was committed. ``of`` is the kind of the task or the name of the tool, ``ms`` how long."""

    what: What
    of: str = ""
    ms: int = 0


class FactWriter:
    """A worker process's end of the pipe. It never waits."""

    def __init__(self, fd: int) -> None:
        os.set_inheritable(fd, False)  # nothing that a tool starts holds it
        os.set_blocking(fd, False)
        self._fd = fd
        self._unsent: deque[Fact] = deque(maxlen=_MOST_UNSENT)

    def tell(self, facts: Sequence[Fact]) -> None:
        """The facts are in the pipe, or kept until there is room in it."""
        self._unsent.extend(facts)
        try:
            while self._unsent:
                os.write(self._fd, _line(self._unsent[0]))
                self._unsent.popleft()
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent.clear()  # the supervisor is gone, and this process about to follow


def read_facts(fd: int, note: Callable[[Fact], None]) -> None:
    """Note each fact from the pipe, until nobody can write into it any more. Blocks."""
    for line in _lines(fd):
        note(Fact(*json.loads(line)))


def _line(fact: Fact) -> bytes:
    return json.dumps([fact.what, fact.of[:_LONGEST_NAME], fact.ms]).encode() + b"\n"


def _lines(fd: int) -> Iterator[bytes]:
    rest = b""
    while piece := os.read(fd, 65_536):
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
