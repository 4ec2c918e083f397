"""The actors: what a message of each kind does. A message holds a task's id and nothing else."""

from __future__ import annotations

import asyncio

import dramatiq

from workers.middleware import WorkerLife

#: The one queue. Which task comes first is decided in the store, not here.
QUEUE = "nonoka"


def declare_actors(broker: dramatiq.Broker, life: WorkerLife) -> None:
    """The broker knows the actors; they run tasks by this worker's life."""

    async def react_turn(task_id: str) -> None:
        """Run one turn of a conversation: load, execute, checkpoint, enqueue the next."""
        try:
            await life.run(task_id)
        except asyncio.CancelledError:
            return  # the worker stops; what was held is handed back

    dramatiq.actor(broker=broker, queue_name=QUEUE)(react_turn)
