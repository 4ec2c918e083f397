"""The session's life: status x event -> status. docs/states.md is drawn from this table.

Rule 1: a session's status changes here and nowhere else.
Rule 2: what isn't in the table is refused by name and changes nothing.
Rule 3: from every status a prompt leads back to running: a session can always take another prompt.
"""

from __future__ import annotations

from enum import StrEnum

from nonoka.records.session import SessionStatus as S


class SessionEvent(StrEnum):
    """What can happen to a session as a whole."""

    BEGIN = "begin"  # a worker takes its first task
    PROMPT = "prompt"  # a message starts a run
    ANSWER = "answer"  # the model answers and nothing is left to do
    FAIL = "fail"  # what can't pass: an error, a limit, five dead workers
    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    RETRY = "retry"  # a person takes a failed run up again
    ROLL_BACK = "roll_back"  # conversation and files went back to an earlier turn


TRANSITIONS: dict[S, dict[SessionEvent, S]] = {
    S.CREATED: {
        SessionEvent.BEGIN: S.RUNNING,
        SessionEvent.CANCEL: S.CANCELLED,
        SessionEvent.PAUSE: S.PAUSED,
        SessionEvent.FAIL: S.FAILED,
    },
    S.RUNNING: {
        SessionEvent.PROMPT: S.RUNNING,
        SessionEvent.ANSWER: S.COMPLETED,
        SessionEvent.FAIL: S.FAILED,
        SessionEvent.CANCEL: S.CANCELLED,
        SessionEvent.PAUSE: S.PAUSED,
    },
    S.PAUSED: {
        SessionEvent.RESUME: S.RUNNING,
        SessionEvent.RETRY: S.RUNNING,
        SessionEvent.CANCEL: S.CANCELLED,
        SessionEvent.FAIL: S.FAILED,
        SessionEvent.ROLL_BACK: S.PAUSED,
    },
    S.COMPLETED: {SessionEvent.PROMPT: S.RUNNING, SessionEvent.ROLL_BACK: S.PAUSED},
    S.FAILED: {SessionEvent.PROMPT: S.RUNNING, SessionEvent.RETRY: S.RUNNING, SessionEvent.ROLL_BACK: S.PAUSED},
    S.CANCELLED: {SessionEvent.PROMPT: S.RUNNING, SessionEvent.ROLL_BACK: S.PAUSED},
}

TERMINAL = frozenset({S.COMPLETED, S.FAILED, S.CANCELLED})


class IllegalTransition(ValueError):
    """A status takes no such event; raised only by a fault in nonoka itself."""

    def __init__(self, status: S, event: SessionEvent) -> None:
        super().__init__(f"a {status.value} session takes no {event.value!r}")


def allows(status: S, event: SessionEvent) -> bool:
    """Whether this event changes a session of this status."""
    return event in TRANSITIONS[status]


def next_status(status: S, event: SessionEvent) -> S:
    """The status after the event. Raises IllegalTransition."""
    try:
        return TRANSITIONS[status][event]
    except KeyError:
        raise IllegalTransition(status, event) from None
