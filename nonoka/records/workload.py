"""How much a store has to do, as of one moment: for metrics."""

from __future__ import annotations

from nonoka.records.base import Record


class Workload(Record):
    """The live tasks, counted.

    ``ready`` may be claimed now, ``delayed`` once their time has come (after a failure that may pass);
    ``waiting`` wait for something that names them. ``oldest_ready_ms`` is for how long the longest due one has
    been ready, 0 where none is.
    """

    ready: int = 0
    delayed: int = 0
    running: int = 0
    waiting: int = 0
    oldest_ready_ms: int = 0
