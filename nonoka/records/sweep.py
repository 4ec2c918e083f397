"""What one recovery pass did."""

from __future__ import annotations

from nonoka.records.base import Record


class Waiting(Record):
    """A lost claim that can't be settled from here, and for whom it waits."""

    task_id: str
    worker_id: str
    why: str


class SweepReport(Record):
    """The outcome of one pass; everything empty where nothing was amiss."""

    released: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    removed_workers: tuple[str, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    errors: tuple[str, ...] = ()
