"""What the one queue and its actors are called, for those who fill it and those who empty it."""

from __future__ import annotations

from nonoka.records.task import key_of_task, kind_of

#: The one queue. Which task comes first is decided in the store, not here.
QUEUE = "nonoka"
#: The actor that runs a turn; a message for it holds a task's id and nothing else.
TURN_ACTOR = "react_turn"
#: The same for a step of a plan.
STEP_ACTOR = "plan_step"


def actor_of(task_id: str) -> str:
    """The actor that runs this task."""
    return STEP_ACTOR if kind_of(key_of_task(task_id)) == "step" else TURN_ACTOR
