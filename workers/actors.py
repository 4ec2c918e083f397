"""The actors: what a message of each kind does. A message holds a task's id and nothing else."""

from __future__ import annotations

import asyncio

import dramatiq

from nonoka.adapters.brokers.queue_names import QUEUE, STEP_ACTOR, TURN_ACTOR
from workers.middleware import WorkerLife


def declare_actors(broker: dramatiq.Broker, life: WorkerLife) -> None:
    """The broker knows the actors; they run tasks by this worker's life."""

    async def react_turn(task_id: str) -> None:
        """Run one turn of a conversation: load, execute, checkpoint, enqueue the next."""
        await _run(life, task_id)

    async def plan_step(task_id: str) -> None:
        """Run one step of a plan, or one item of it: load, execute, checkpoint, enqueue what is ready by it."""
        await _run(life, task_id)

    dramatiq.actor(broker=broker, queue_name=QUEUE, actor_name=TURN_ACTOR)(react_turn)
    dramatiq.actor(broker=broker, queue_name=QUEUE, actor_name=STEP_ACTOR)(plan_step)


async def _run(life: WorkerLife, task_id: str) -> None:
    try:
        await life.run(task_id)
    except asyncio.CancelledError:
        return  # the worker stops; what was held is handed back
