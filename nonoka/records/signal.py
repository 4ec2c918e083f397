"""What reaches a session from outside: written to its inbox, drained by a claim."""

from __future__ import annotations

from enum import StrEnum

from nonoka.records.base import JsonObject, Record


class SignalKind(StrEnum):
    """What a signal asks for."""

    #: payload ``text``: the next message of the user
    MESSAGE = "message"
    #: take a failed run up again
    RETRY = "retry"
    #: stop before the next call or model request, until a resume; with ``now`` in the payload what runs is cut
    #: off, settled, and begun again after the resume
    PAUSE = "pause"
    #: go on after a pause
    RESUME = "resume"
    #: payload ``call``, ``what`` (again, skip or result) and ``text``: what a person says of a call in doubt
    ANSWER = "answer"
    #: payload ``to`` (a turn's number) or ``undo``, and ``force``: conversation and files go back
    ROLLBACK = "rollback"
    #: end the run; its calls never run again
    CANCEL = "cancel"


class Signal(Record):
    """A row of ``signals``; ``seq`` orders a session's inbox."""

    session_id: str
    seq: int
    kind: SignalKind
    payload: JsonObject = {}
    created_at: int
