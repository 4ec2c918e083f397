"""The calls of an open turn, read back from what was committed of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pydantic import TypeAdapter

from nonoka.records.base import JsonObject
from nonoka.records.memory import MemoryEntry
from nonoka.records.runtime import OpenTurn
from nonoka.records.step_update import StepUpdate
from nonoka.records.tool import CallState, Effect, ProcessGroup

#: fields of a call's status row that most calls don't have
_IF_ANY = ("snapshot", "repository", "over_at", "undone", "stuck_since", "doubt", "overdue_s")
_processes = TypeAdapter(tuple[ProcessGroup, ...])


def call_id(turn: int, place: int) -> str:
    """The id of a call on the wire: ours, since models repeat theirs or leave them empty."""
    return f"call_{turn}_{place}"


def idempotency_key(session_id: str, turn: int, place: int) -> str:
    """Names a call's effect across all its attempts."""
    return f"{session_id}:{turn}:{place}"


def key_of(session_id: str, call: CallState) -> str:
    """The idempotency key of a turn's call, or of a plan's step."""
    if call.step is not None:
        return f"{session_id}:{call.step}"
    return idempotency_key(session_id, call.turn, call.place)


def read_calls(
    open_turn: OpenTurn, asked: MemoryEntry, answered: Collection[int], updates: Iterable[StepUpdate]
) -> tuple[CallState, ...]:
    """The state of each call of the open turn, in the order asked.

    ``asked`` is the assistant entry, ``answered`` the positions that hold a result, ``updates`` the
    turn's status rows.
    """
    new = tuple(
        CallState(
            turn=open_turn.turn,
            place=place,
            call_id=call.id,
            name=call.name,
            args=call.args,
            position=open_turn.position + 1 + place,
        )
        for place, call in enumerate(asked.tool_calls)
    )
    return calls_after(new, answered, updates)


def calls_after(
    calls: tuple[CallState, ...], answered: Collection[int], updates: Iterable[StepUpdate]
) -> tuple[CallState, ...]:
    """The calls once these positions hold a result and these rows of progress are written."""
    status_of = {update.step_id: update.payload for update in updates if update.update_type == "status"}
    found = []
    for call in calls:
        update = _recorded(payload) if (payload := status_of.get(call.step_id)) is not None else {}
        if call.position in answered:
            update["status"] = "done"
        found.append(call.model_copy(update=update) if update else call)
    return tuple(found)


def status_payload(call: CallState, session_id: str) -> JsonObject:
    """What a call's status row holds; ``read_calls`` reads it back."""
    return {
        "state": {"begun": "running", "not_begun": "pending", "done": "completed"}[call.status],
        "attempt": call.attempt,
        "fence": call.fence,
        "key": idempotency_key(session_id, call.turn, call.place),
        "tool": call.name,
        "effect": call.effect.value,
        "on_uncertain": call.on_uncertain,
        "processes": [group.model_dump(mode="json") for group in call.processes],
        **{name: value for name in _IF_ANY if (value := getattr(call, name)) not in (None, "none")},
    }


def _recorded(payload: JsonObject) -> dict[str, object]:
    return {
        "status": "begun" if payload["state"] == "running" else "not_begun",
        "attempt": payload["attempt"],
        "fence": payload["fence"],
        "effect": Effect(str(payload["effect"])),
        "on_uncertain": payload["on_uncertain"],
        "processes": _processes.validate_python(payload["processes"]),
        **{name: payload[name] for name in _IF_ANY if name in payload},
    }
