"""A call that goes on past its time until its worker ends for it: noted before that, answered after it."""

from __future__ import annotations

from nonoka.decisions.draft import Draft
from nonoka.records.event import EventType
from nonoka.records.tool import CallResult


def note_overdue(draft: Draft, place: int, limit_s: float) -> None:
    """The call's time is over, which is its outcome; its worker is about to end for it."""
    call = draft.calls[place].model_copy(update={"overdue_s": limit_s})
    draft.set_call(call)
    draft.tell(
        EventType.CALL_OVERDUE,
        turn=call.turn,
        tool_call_id=call.call_id,
        tool=call.name,
        attempt=call.attempt,
        limit_s=limit_s,
    )


def answer_overdue(draft: Draft) -> bool:
    """Each of those calls has its result, now that its worker has ended; whether there was one."""
    overdue = [call for call in draft.calls if call.status == "begun" and call.overdue_s is not None]
    for call in overdue:
        content = (
            f"{call.name} was ended after its {call.overdue_s:g} s, and its worker process with it, since nothing "
            "else could stop it; its outcome may be partial"
        )
        draft.answer_call(call, CallResult(content=content, error_type="timeout"))
    return bool(overdue)
