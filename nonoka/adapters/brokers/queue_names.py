"""What the one queue and its actor are called, for those who fill it and those who empty it."""

from __future__ import annotations

#: The one queue. Which task comes first is decided in the store, not here.
QUEUE = "nonoka"
#: The actor that runs a turn; a message for it holds a task's id and nothing else.
TURN_ACTOR = "react_turn"
