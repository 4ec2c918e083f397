"""Rows of progress inside a task."""

from __future__ import annotations

from typing import Literal

from nonoka.records.base import JsonObject, Record

UpdateType = Literal["status", "result", "error"]


class StepUpdate(Record):
    """A row of ``step_updates``; ``seq`` is the store's own counter (0 until stored) and orders the merge."""

    step_id: str
    update_type: UpdateType
    payload: JsonObject
    seq: int = 0
