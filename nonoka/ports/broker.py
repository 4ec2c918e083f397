"""The queue: it carries hints, and losing, doubling or reordering them changes nothing."""

from __future__ import annotations

from typing import Protocol


class Broker(Protocol):
    """Tells workers that a task is due."""

    async def send(self, task_id: str) -> None:
        """Hint that this task is due. Never raises: what is lost here is sent again from the store."""
