"""The timeline: what happened, committed in the transaction of what it tells."""

from __future__ import annotations

from enum import StrEnum

from nonoka.records.base import JsonObject, Record


class EventType(StrEnum):
    """The closed list of event types (docs/events.md says what each one's data holds)."""

    SESSION_CREATED = "session_created"
    PROMPT_ACCEPTED = "prompt_accepted"
    TURN_STARTED = "turn_started"
    TEXT_STREAMED = "text_streamed"
    MODEL_ANSWERED = "model_answered"
    CALL_STARTED = "call_started"
    CALL_FINISHED = "call_finished"
    CALL_OVERDUE = "call_overdue"
    CALL_SETTLED = "call_settled"
    CALL_ASKED = "call_asked"
    CALL_DECIDED = "call_decided"
    TASK_WAITING = "task_waiting"
    TURN_RETRIED = "turn_retried"
    TURN_RELEASED = "turn_released"
    TURN_FINISHED = "turn_finished"
    STEP_STARTED = "step_started"
    STEP_FINISHED = "step_finished"
    STEP_RETRIED = "step_retried"
    STEP_RELEASED = "step_released"
    STEP_SETTLED = "step_settled"
    STEP_SKIPPED = "step_skipped"
    PLAN_CHANGED = "plan_changed"
    PLAN_FINISHED = "plan_finished"
    SESSION_RESUMED = "session_resumed"
    SESSION_PAUSED = "session_paused"
    SESSION_COMPLETED = "session_completed"
    SESSION_FAILED = "session_failed"
    SESSION_CANCELLED = "session_cancelled"
    SESSION_ROLLED_BACK = "session_rolled_back"
    ROLLBACK_REFUSED = "rollback_refused"
    SESSION_FORKED = "session_forked"
    SESSION_REPAIRED = "session_repaired"


class NewEvent(Record):
    """An event before the store has given it its place."""

    type: EventType
    data: JsonObject = {}


class Event(Record):
    """A row of ``events``; ``seq`` orders a session's timeline, ``at`` is ms UTC."""

    session_id: str
    seq: int
    at: int
    type: EventType
    data: JsonObject = {}
