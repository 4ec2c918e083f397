"""No queue at all: workers look at the store themselves. For processes that only create or recover."""

from __future__ import annotations


class SilentBroker:
    """Sends nothing: every worker's feeder finds the task in the store within its next look (50 ms)."""

    async def send(self, task_id: str) -> None:
        """Nothing is lost by this: the store holds the task."""
