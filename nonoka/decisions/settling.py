"""Begun calls are brought to a known point: begun again, asked about, or answered with what is known.

Decided once their processes have ended and their workspace is rolled back; ``Draft.settled`` says what that did.
"""

from __future__ import annotations

from pydantic import JsonValue

from nonoka.decisions.draft import Draft
from nonoka.decisions.transitions import SessionEvent
from nonoka.records.base import JsonObject
from nonoka.records.event import EventType
from nonoka.records.signal import SignalKind
from nonoka.records.tool import CallResult, CallState, Effect, OnUncertain, SettledCall

UNKNOWN_OUTCOME = CallResult(
    content="interrupted: the worker running this ended; whether it took effect is unknown",
    error_type="interrupted",
)
#: How many files an event or a result names.
FILES_SHOWN = 20


def settle_calls(draft: Draft) -> CallState | None:
    """Each begun call is at a known point; returns the one that may not be run again unasked, if there is one.

    Where a person has to say what became of a call, the session pauses.
    """
    asked: list[CallState] = []
    for call in [c for c in draft.calls if c.status == "begun"]:
        if call.snapshot is not None and call.place not in draft.settled:
            raise ValueError(f"{call.call_id} may have changed the workspace, and nobody has settled it")
        outcome = outcome_of(call, draft.settled.get(call.place))
        tell_settled(draft, call, outcome)
        if outcome in ("tell", "fail"):
            draft.answer_call(call, known_of(draft, call, UNKNOWN_OUTCOME))
            if outcome == "fail":
                return call
            continue
        doubt = outcome if outcome in ("probe", "ask") else "none"
        settled = call.model_copy(
            update={
                "status": "not_begun",
                "processes": (),
                "snapshot": None,
                "repository": None,
                "over_at": None,
                "undone": None,
                "stuck_since": None,
                "doubt": doubt,
            }
        )
        draft.set_call(settled)
        if doubt == "ask":
            asked.append(settled)
    if asked:
        _pause_to_ask(draft, asked)
    return None


def tell_settled(draft: Draft, call: CallState, outcome: str) -> None:
    """What was done about a begun call is in the timeline."""
    found = draft.settled.get(call.place)
    draft.tell(
        EventType.CALL_SETTLED,
        turn=call.turn,
        tool_call_id=call.call_id,
        tool=call.name,
        attempt=call.attempt,
        outcome=outcome,
        **settled_facts(found),
    )


def known_of(draft: Draft, call: CallState, result: CallResult) -> CallResult:
    """The result of a call that was cut off, with what is known of the workspace added."""
    found = draft.settled.get(call.place)
    if found is None:
        return result
    if found.not_rolled_back is not None:
        note = f"nothing was rolled back, for {found.not_rolled_back}: look at what is there"
    elif found.rollback is None:
        return result
    else:
        note = "its changes to the workspace were rolled back"
        if found.rollback.kept:
            note += f", but for {_listed([kept.path for kept in found.rollback.kept])}"
    return result.model_copy(update={"content": f"{result.content}; {note}"})


def outcome_of(call: CallState, found: SettledCall | None) -> OnUncertain:
    """What becomes of a call that was cut off, by its effect and by what settling found."""
    if found is not None and found.not_rolled_back is not None:
        return "fail" if call.on_uncertain == "fail" else "tell"
    return "replay" if call.effect in (Effect.READ_ONLY, Effect.IDEMPOTENT) else call.on_uncertain


def settled_facts(found: SettledCall | None) -> JsonObject:
    """What settling did, as an event tells it."""
    if found is None:
        return {}
    if found.not_rolled_back is not None:
        return {"not_rolled_back": found.not_rolled_back}
    if found.rollback is None:
        return {}
    kept: list[JsonValue] = [f"{note.path}: {note.why}" for note in found.rollback.kept[:FILES_SHOWN]]
    return {"rolled_back": len(found.rollback.changes), **({"kept": kept} if kept else {})}


def _pause_to_ask(draft: Draft, asked: list[CallState]) -> None:
    names = _listed([f"{call.name} ({call.call_id})" for call in asked])
    message = f"whether {names} took effect is not known; say it with: nonoka sessions answer"
    for call in asked:
        draft.tell(EventType.CALL_ASKED, turn=call.turn, tool_call_id=call.call_id, tool=call.name, args=call.args)
    draft.move(SessionEvent.PAUSE)
    draft.stop_clock("paused", "needs_answer", message)
    draft.tell(EventType.SESSION_PAUSED, why="needs_answer")
    # A pause holds messages back; whatever else has come meanwhile is read by a turn of its own.
    draft.finish_task(next_turn=any(signal.kind is not SignalKind.MESSAGE for signal in draft.signals))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - FILES_SHOWN} more" if len(names) > FILES_SHOWN else ""
    return ", ".join(names[:FILES_SHOWN]) + more
