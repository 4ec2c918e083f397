"""A conversation of nonoka 1.3.8, made one that any model accepts: each call has its one result right after it.

``adopt`` calls this; it reads nothing but what it is given.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nonoka.adapters.sqlite.adoption.legacy_file import LegacySession
from nonoka.agents.plain_value import clean_text
from nonoka.decisions.calls import call_id
from nonoka.decisions.turn import parsed_arguments
from nonoka.records.memory import MemoryEntry, MemoryRole, ToolCall

UNKNOWN = "interrupted, outcome unknown"

#: role, content, metadata as they were
_Old = tuple[str, str, dict[str, Any]]


def entries_of(old: LegacySession) -> tuple[list[MemoryEntry], int]:
    """The entries, and how many calls had no result and were given ``UNKNOWN``."""
    written = [_old(entry) for entry in old.state.get("memory_entries") or [] if isinstance(entry, dict)]
    if not written and old.state.get("current_plan"):
        return _numbered(_told_plan(old)), 0
    return _valid(_as_far_as_it_got(written, old.remembered))


def _old(entry: dict[str, Any]) -> _Old:
    metadata = entry.get("metadata")
    role, content = str(entry.get("role") or "user"), str(entry.get("content") or "")
    return role, clean_text(content), metadata if isinstance(metadata, dict) else {}


def _as_far_as_it_got(written: list[_Old], remembered: Sequence[tuple[str, dict[str, Any]]]) -> list[_Old]:
    # The checkpoint knows the roles, but is written at the end of a turn; what a killed process had noted goes on
    # where the checkpoint ends, if it is of the same conversation.
    same = [content for _, content, _ in written] == [clean_text(c) for c, _ in remembered[: len(written)]]
    if not same:
        return written
    found = list(written)
    for content, metadata in remembered[len(written) :]:
        found.append((_guessed_role(found, content, metadata), clean_text(content), metadata))
    return found


def _guessed_role(before: list[_Old], content: str, metadata: dict[str, Any]) -> str:
    if metadata.get("tool_calls"):
        return "assistant"
    if metadata.get("tool_call_id") is not None:
        return "tool"
    if content.startswith("[System notice]"):
        return "system"
    spoke = next((role for role, _, _ in reversed(before) if role != "system"), "assistant")
    return "user" if spoke == "assistant" else "assistant"


def _valid(old: list[_Old]) -> tuple[list[MemoryEntry], int]:
    found: list[tuple[MemoryRole, str, dict[str, Any]]] = []
    unanswered, turn, place = 0, 0, 0
    while place < len(old):
        role, content, metadata = old[place]
        place += 1
        if role == "tool":
            continue  # it answers nothing that was asked
        if role != "assistant":
            found.append((MemoryRole.SYSTEM if role == "system" else MemoryRole.USER, content, {}))
            continue
        turn += 1
        calls = _calls(metadata, turn)
        said: dict[str, Any] = {"turn": turn}
        if calls:
            said["tool_calls"] = [call.model_dump(mode="json") for call in calls]
        found.append((MemoryRole.ASSISTANT, content, said))
        results = _results_before_the_next_answer(old[place:])
        for call in calls:
            answer = _take(results, call)
            unanswered += answer is None
            told = {"tool_call_id": call.id, "name": call.name, "ok": answer is not None}
            found.append((MemoryRole.TOOL, UNKNOWN if answer is None else answer, told))
    return _numbered(found), unanswered


def _results_before_the_next_answer(following: list[_Old]) -> list[_Old]:
    end = next((place for place, (role, _, _) in enumerate(following) if role == "assistant"), len(following))
    return [entry for entry in following[:end] if entry[0] == "tool"]


def _take(results: list[_Old], call: ToolCall) -> str | None:
    for place, (_, content, metadata) in enumerate(results):
        if str(metadata.get("tool_call_id") or "") == call.model_id:
            del results[place]
            return content
    return None


def _calls(metadata: dict[str, Any], turn: int) -> list[ToolCall]:
    asked = metadata.get("tool_calls")
    found: list[ToolCall] = []
    for call in asked if isinstance(asked, list) else []:
        if isinstance(call, dict) and isinstance(call.get("function"), dict):
            function = call["function"]
            found.append(
                ToolCall(
                    id=call_id(turn, len(found)),
                    name=str(function.get("name") or "unknown"),
                    args=parsed_arguments(str(function.get("arguments") or "{}")),
                    model_id=str(call.get("id") or ""),
                )
            )
    return found


def _told_plan(old: LegacySession) -> list[tuple[MemoryRole, str, dict[str, Any]]]:
    steps = [str(step.get("id")) for step in old.state["current_plan"].get("steps", [])]
    outcome: dict[str, Any] = dict.fromkeys(steps, "not run")
    for step, kind, payload in old.step_updates:
        if kind in ("result", "error"):
            outcome[step] = payload.get(kind)
    text = clean_text(json.dumps(outcome, ensure_ascii=False, indent=2))
    return [
        (MemoryRole.USER, f"Run the plan of steps {', '.join(steps)}.", {}),
        (MemoryRole.ASSISTANT, text, {"turn": 1}),
    ]


def _numbered(found: Sequence[tuple[MemoryRole, str, dict[str, Any]]]) -> list[MemoryEntry]:
    return [
        MemoryEntry(position=position, role=role, content=content, metadata=metadata)
        for position, (role, content, metadata) in enumerate(found)
    ]
