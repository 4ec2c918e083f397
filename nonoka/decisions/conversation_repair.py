"""A conversation as it was found, brought to one that a model may see. The turn asks before each request.

However it was broken (by a hand, a bug, an older version), what comes out is valid by ``first_fault``:

- each call keeps its place and has one result right after it: its own, moved there if it stood elsewhere, or
  "interrupted: its outcome is unknown" if there is none;
- of several results the first is kept; one that belongs to no call is left out, because a tool's output may
  not speak with a user's or the model's voice. It stays in the store, as all that is withdrawn;
- an id that is empty, taken, or refused by servers becomes one of ours, in call and result;
- what others said keeps its words and its order.

No turn is open where this is asked: dangling calls are about to run, and are no fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nonoka.decisions.conversation_rules import calls_of, first_fault, has_unreadable_calls, is_fit_id
from nonoka.decisions.draft import Draft
from nonoka.decisions.result_matching import Asking, FoundResult, match_results
from nonoka.records.base import JsonObject
from nonoka.records.event import EventType
from nonoka.records.memory import MemoryEntry, MemoryRole, ToolCall

INTERRUPTED = "interrupted: its outcome is unknown"
#: How many of its steps the event of a repair names.
MOST_TOLD = 20


@dataclass(frozen=True, slots=True)
class Repair:
    """What makes a conversation valid: ``kept`` stays, what follows it is withdrawn, ``anew`` is appended.

    ``anew`` has the positions from ``next_position`` on. ``done`` says what was done, in words.
    """

    fault: str
    kept: tuple[MemoryEntry, ...]
    withdraw_from: int | None
    anew: tuple[MemoryEntry, ...]
    next_position: int
    done: tuple[str, ...]

    @property
    def entries(self) -> tuple[MemoryEntry, ...]:
        """The conversation after it."""
        return (*self.kept, *self.anew)


def repair_of(entries: Sequence[MemoryEntry], next_position: int) -> Repair | None:
    """What makes these entries valid; None where they are. ``next_position`` is the first that is free."""
    fault = first_fault(entries)
    if fault is None:
        return None
    mending = _Mending(entries, next_position)
    mended = mending.mended()
    same = 0
    while same < min(len(entries), len(mended)) and mended[same] is entries[same]:
        same += 1
    return Repair(
        fault=fault,
        kept=tuple(mended[:same]),
        withdraw_from=entries[same].position if same < len(entries) else None,
        anew=tuple(
            entry.model_copy(update={"position": position})
            for position, entry in enumerate(mended[same:], start=next_position)
        ),
        next_position=next_position,
        done=tuple(mending.done),
    )


def repair_conversation(draft: Draft, repair: Repair) -> None:
    """The repair is part of the conversation, and told. Nothing happens where that has grown since it was read."""
    if draft.next_position != repair.next_position:
        return
    if repair.withdraw_from is not None:
        draft.withdraw(repair.withdraw_from, repair.kept[-1] if repair.kept else None)
    for entry in repair.anew:
        draft.append(entry.role, entry.content, entry.metadata, entry.tokens)
    draft.close_calls()
    more = len(repair.done) - MOST_TOLD
    draft.tell(
        EventType.SESSION_REPAIRED,
        why=f"the conversation could not be sent: {repair.fault}",
        done=[*repair.done[:MOST_TOLD], *([f"and {more} more"] if more > 0 else [])],
        withdrawn_from=repair.withdraw_from,
        appended=len(repair.anew),
    )


class _Mending:
    """Makes the valid entries; those that are as they were are the same objects."""

    def __init__(self, entries: Sequence[MemoryEntry], next_position: int) -> None:
        self._entries = entries
        self._next_position = next_position
        self._taken = {call.id for entry in entries for call in calls_of(entry)}
        self._given: set[str] = set()
        self._new_ids = 0
        self.done: list[str] = []

    def mended(self) -> list[MemoryEntry]:
        matching = match_results(self._entries)
        found: list[MemoryEntry] = []
        for place, entry in enumerate(self._entries):
            if entry.role is MemoryRole.TOOL:
                continue
            calls = [self._with_fit_id(call, entry) for call in calls_of(entry)]
            found.append(self._asking(entry, calls))
            if asking := matching.asking.get(place):
                self._note_places(asking)
                found += [self._answer(call, result) for call, result in zip(calls, asking.results, strict=True)]
        for result in matching.surplus:
            named = f" for {result.call_id!r}" if result.call_id else ""
            self.done.append(f"the result{named} at position {result.entry.position} was left out")
        return found

    def _with_fit_id(self, call: ToolCall, entry: MemoryEntry) -> ToolCall:
        if is_fit_id(call.id) and call.id not in self._given:
            self._given.add(call.id)
            return call
        fresh = self._fresh_id()
        self.done.append(f"call {call.id!r} at position {entry.position} is {fresh!r} now")
        return call.model_copy(update={"id": fresh, "model_id": call.model_id or call.id})

    def _fresh_id(self) -> str:
        # Unlike any other: positions are never used twice, so neither is this repair's number.
        fresh = f"call_r{self._next_position}_{self._new_ids}"
        self._new_ids += 1
        return self._fresh_id() if fresh in self._taken else fresh

    def _asking(self, entry: MemoryEntry, calls: list[ToolCall]) -> MemoryEntry:
        unreadable = has_unreadable_calls(entry)
        if unreadable:
            self.done.append(f"what can't be read of the calls at position {entry.position} was left out")
        elif tuple(calls) == calls_of(entry):
            return entry
        # What a provider noted is by the places of the calls.
        dropped = {"tool_calls", "provider"} if unreadable else {"tool_calls"}
        metadata: JsonObject = {key: value for key, value in entry.metadata.items() if key not in dropped}
        if calls:
            metadata["tool_calls"] = [call.model_dump(mode="json") for call in calls]
        return MemoryEntry(
            position=entry.position, role=entry.role, content=entry.content, metadata=metadata, tokens=entry.tokens
        )

    def _answer(self, call: ToolCall, result: FoundResult | None) -> MemoryEntry:
        if result is None:
            self.done.append(f"call {call.id!r} had no result: the model is told that its outcome is unknown")
            known: JsonObject = {"tool_call_id": call.id, "name": call.name, "ok": False}
            return MemoryEntry(position=0, role=MemoryRole.TOOL, content=INTERRUPTED, metadata=known)
        if result.entry.tool_call_id == call.id:
            return result.entry
        return result.entry.model_copy(update={"metadata": result.entry.metadata | {"tool_call_id": call.id}})

    def _note_places(self, asking: Asking) -> None:
        expected = asking.place + 1
        for call, result in zip(asking.calls, asking.results, strict=True):
            if result is None:
                continue
            between = self._entries[expected : result.place]
            if result.place < expected or any(entry.role is not MemoryRole.TOOL for entry in between):
                self.done.append(f"the result at position {result.entry.position} was moved to its call")
            if result.call_id != call.id:
                self.done.append(f"the result at position {result.entry.position} was taken for {call.name!r}'s")
            expected = max(expected, result.place + 1)
