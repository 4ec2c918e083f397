"""The points at which a process can die, by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast

from nonoka.errors import UsageError
from nonoka.records.event import EventType

When = Literal["before", "inside", "after"]
#: what a process reaches the outside through; ``model`` and ``command`` are got from ``models`` and ``processes``
PORTS = (
    "store",
    "broker",
    "models",
    "model",
    "processes",
    "command",
    "artifacts",
    "snapshots",
    "workspace_use",
    "worktrees",
)


_WRITTEN = re.compile(r"(before|inside|after)\s+(\S+)(?:\s+([1-9][0-9]*))?")


@dataclass(frozen=True)
class Point:
    """The ``ordinal``-th (from 1) time that this is passed, such as ``after call_started`` or
    ``before model.respond 2``.

    ``name`` is an event's type or the call of a port. ``before`` an event: all that would be committed with
    it is lost. ``after`` a call of a port: it was made, and its result is lost. ``inside`` is a decision in
    the midst of a store's transaction.
    """

    when: When
    name: str
    ordinal: int = 1

    def __str__(self) -> str:
        return f"{self.when} {self.name} {self.ordinal}"

    @classmethod
    def parsed(cls, text: str) -> Point:
        """The point that is written so; without a number the first time. Raises UsageError."""
        found = _WRITTEN.fullmatch(text.strip())
        if found is None:
            raise UsageError(f"a point is written 'before|inside|after NAME [N]', N from 1, not {text!r}")
        when, name, ordinal = found.groups()
        if name not in set(EventType) and name.partition(".")[0] not in PORTS:
            raise UsageError(
                f"point {text!r}: {name!r} is neither an event ({', '.join(EventType)}) nor the call of a port "
                f"({', '.join(f'{port}.…' for port in PORTS)})"
            )
        return cls(cast(When, when), name, int(ordinal or 1))
