"""What must hold of a session of the crash tests, whatever died while it was worked on."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from nonoka.decisions.conversation_rules import first_fault
from nonoka.ports.store import Store
from nonoka.records.commit import SessionDetail
from nonoka.records.event import EventType
from nonoka.records.memory import MemoryRole
from nonoka.records.session import SessionStatus
from tests.support.oracle import Oracle

#: an artifact's handle: it names the session, and the attempt that made it
_HANDLE = re.compile(r"[0-9a-f-]{36}/call_\d+_\d+-\d+\.txt")


@dataclass(frozen=True)
class Stand:
    """What was durable at a moment between two lives, and how far the oracle was then."""

    session_id: str = ""
    answers: int = 0
    answered_calls: frozenset[str] = frozenset()
    attempts: dict[str, int] = field(default_factory=dict)
    ran: int = 0
    asked: int = 0


async def stand_of(store: Store, oracle: Oracle, session_id: str) -> Stand:
    """Where the session stands now; "" is one that was never created."""
    if not session_id:
        return Stand()
    detail = await store.detail(session_id)
    entries = detail.state.memory_entries
    return Stand(
        session_id=session_id,
        answers=sum(entry.role is MemoryRole.ASSISTANT for entry in entries),
        answered_calls=frozenset(entry.tool_call_id for entry in entries if entry.tool_call_id),
        attempts={call.call_id: call.attempt for call in detail.calls},
        ran=len(oracle.ran(session_id)),
        asked=len(oracle.asked(session_id)),
    )


def life_faults(before: Stand, after: Stand, oracle: Oracle) -> list[str]:
    """What the process that lived between these two moments did and must not have done."""
    session_id = after.session_id
    if not session_id:
        return []
    faults = []
    ran = oracle.ran(session_id)[before.ran : after.ran]
    for one in ran:
        if one.tool_call_id in before.answered_calls:
            faults.append(f"{one.tool_call_id} ran again, and its result was committed")
        _, turn, place = one.tool_call_id.split("_")
        if one.idempotency_key != f"{session_id}:{turn}:{place}":
            faults.append(f"{one.tool_call_id} ran under the key {one.idempotency_key}")
        if one.attempt != before.attempts.get(one.tool_call_id, 0) + 1:
            faults.append(f"{one} was not the attempt after {before.attempts.get(one.tool_call_id, 0)}")
        if one.left_over:
            faults.append(f"{one} ran beside processes of an earlier attempt")
    faults += [
        f"{id_} ran {n} times in one life" for id_, n in Counter(o.tool_call_id for o in ran).items() if n > 1
    ]
    asked = oracle.asked(session_id)[before.asked : after.asked]
    for request in asked:
        if request.answers < before.answers:
            faults.append(f"{request} was answered before, and that answer was committed")
        if request.fault != "-":
            faults.append(f"{request} can't be sent")
    faults += [
        f"answer {n} was asked for {k} times in one life"
        for n, k in Counter(a.answers for a in asked).items()
        if k > 1
    ]
    return faults


def end_faults(detail: SessionDetail, undisturbed: SessionDetail) -> list[str]:
    """In what the session's end differs from an undisturbed run's, or is wrong in itself."""
    faults = []
    state = detail.state
    if state.status is not SessionStatus.COMPLETED:
        faults.append(f"it is {state.status}: {state.runtime_state.termination}")
    if fault := first_fault(state.memory_entries):
        faults.append(fault)
    if conversation(detail) != conversation(undisturbed):
        faults.append(f"its conversation is another: {conversation(detail)}")
    if live := [task.key for task in detail.tasks if task.status in ("ready", "running", "waiting")]:
        faults.append(f"it has live tasks: {live}")
    told, expected = once_told(detail), once_told(undisturbed)
    if told != expected:
        faults.append(f"its events tell something else: {told - expected} more, {expected - told} less")
    used, normal = state.runtime_state.session_usage, undisturbed.state.runtime_state.session_usage
    if (used.model_turns, used.tool_calls) != (normal.model_turns, normal.tool_calls):
        faults.append(f"it counted {used.model_turns} turns and {used.tool_calls} calls")
    if used.input_tokens < normal.input_tokens or used.output_tokens != normal.output_tokens:
        faults.append(f"it counted {used}")
    if state.step_statuses != undisturbed.state.step_statuses:
        faults.append(f"its steps stand so: {state.step_statuses}")
    return faults


def conversation(detail: SessionDetail) -> list[tuple[object, ...]]:
    """The entries as they must be in every run, attempts and ids of sessions left out."""
    return [
        (entry.position, entry.role, _HANDLE.sub("HANDLE", entry.content), entry.tool_calls, entry.tool_call_id)
        for entry in detail.state.memory_entries
    ]


def once_told(detail: SessionDetail) -> Counter[tuple[str, object, object]]:
    """The events that tell of what happens once, however often it is begun."""
    once = {
        EventType.SESSION_CREATED,
        EventType.PROMPT_ACCEPTED,
        EventType.MODEL_ANSWERED,
        EventType.CALL_FINISHED,
        EventType.TURN_FINISHED,
        EventType.SESSION_COMPLETED,
    }
    return Counter(
        (event.type.value, event.data.get("turn"), event.data.get("tool_call_id"))
        for event in detail.events
        if event.type in once
    )
