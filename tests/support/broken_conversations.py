"""Conversations broken by chance, the same for the same number: for the tests of their repair."""

from __future__ import annotations

import random
from collections.abc import Callable

from pydantic import JsonValue

from nonoka.records.base import JsonObject
from nonoka.records.memory import MemoryEntry, MemoryRole

_TOOLS = ("look", "write", "run")
_ODD_IDS = ("", "", " ", "dup", "dup", "functions.look:0", "x" * 60, "a\ud83d", "nul\x00", "call_1_0", "call_r9_0")
_NO_CALLS: tuple[JsonValue, ...] = (
    None,
    7,
    "x",
    {},
    [],
    [7],
    [None, "x"],
    [{"id": 3}],
    [{"name": None, "args": 1}],
)
_Spoken = tuple[MemoryRole, str, JsonObject]


def conversation(number: int) -> list[MemoryEntry]:
    """A valid one, as nonoka itself keeps it: up to six turns with up to four calls each."""
    return _placed(random.Random(number), _spoken(random.Random(number)))


def broken(number: int) -> list[MemoryEntry]:
    """One that was valid, until a hand or a bug changed it in one to six ways (some of which change nothing)."""
    chance = random.Random(number)
    spoken = _spoken(chance)
    for _ in range(chance.randint(1, 6)):
        chance.choice(_WAYS)(chance, spoken)
    return _placed(chance, spoken)


def _spoken(chance: random.Random) -> list[_Spoken]:
    found: list[_Spoken] = []
    for turn in range(1, chance.randint(1, 6) + 1):
        if turn == 1 or chance.random() < 0.4:
            found.append((MemoryRole.USER, f"prompt {turn}", {}))
        if chance.random() < 0.1:
            found.append((MemoryRole.SYSTEM, f"notice {turn}", {}))
        names = [chance.choice(_TOOLS) for _ in range(chance.randint(0, 4))]
        calls: list[JsonValue] = [
            {"id": f"call_{turn}_{place}", "name": name, "args": {"n": place}, "model_id": "m"}
            for place, name in enumerate(names)
        ]
        found.append(
            (MemoryRole.ASSISTANT, f"answer {turn}", {"turn": turn} | ({"tool_calls": calls} if calls else {}))
        )
        found += [
            (
                MemoryRole.TOOL,
                f"result {turn} {place}",
                {"tool_call_id": f"call_{turn}_{place}", "name": name, "ok": True},
            )
            for place, name in enumerate(names)
        ]
    return found


def _placed(chance: random.Random, spoken: list[_Spoken]) -> list[MemoryEntry]:
    position, found = 0, []
    for role, content, metadata in spoken:
        found.append(MemoryEntry(position=position, role=role, content=content, metadata=metadata))
        position += 1 if chance.random() < 0.9 else chance.randint(2, 5)
    return found


# --- ways to break one


def _remove(chance: random.Random, spoken: list[_Spoken]) -> None:
    if spoken:
        del spoken[chance.randrange(len(spoken))]


def _double(chance: random.Random, spoken: list[_Spoken]) -> None:
    if spoken:
        spoken.insert(chance.randint(0, len(spoken)), chance.choice(spoken))


def _move(chance: random.Random, spoken: list[_Spoken]) -> None:
    if spoken:
        one = spoken.pop(chance.randrange(len(spoken)))
        spoken.insert(chance.randint(0, len(spoken)), one)


def _shuffle_some(chance: random.Random, spoken: list[_Spoken]) -> None:
    start = chance.randint(0, len(spoken))
    part = spoken[start : start + 5]
    chance.shuffle(part)
    spoken[start : start + 5] = part


def _cut_off(chance: random.Random, spoken: list[_Spoken]) -> None:
    del spoken[chance.randint(0, len(spoken)) :]


def _intrude(chance: random.Random, spoken: list[_Spoken]) -> None:
    spoken.insert(chance.randint(0, len(spoken)), (MemoryRole.USER, f"in between {chance.random()}", {}))


def _orphan(chance: random.Random, spoken: list[_Spoken]) -> None:
    known: JsonObject = chance.choice(
        [{}, {"name": "look"}, {"tool_call_id": "gone"}, {"tool_call_id": 7, "name": 7}]
    )
    spoken.insert(chance.randint(0, len(spoken)), (MemoryRole.TOOL, f"orphan {chance.random()}", known))


def _change_id(chance: random.Random, spoken: list[_Spoken]) -> None:
    """Of a call, of a result, or of both, wherever that id stands."""
    ids = [metadata["tool_call_id"] for _, _, metadata in spoken if "tool_call_id" in metadata]
    if not ids:
        return
    old, new, which = chance.choice(ids), chance.choice(_ODD_IDS), chance.choice(("call", "result", "both"))
    for place, (role, content, metadata) in enumerate(spoken):
        calls = metadata.get("tool_calls")
        if which != "result" and isinstance(calls, list):
            renamed: list[JsonValue] = [
                call | {"id": new} if isinstance(call, dict) and call.get("id") == old else call for call in calls
            ]
            metadata = metadata | {"tool_calls": renamed}
        if which != "call" and metadata.get("tool_call_id") == old:
            metadata = metadata | {"tool_call_id": new}
        spoken[place] = (role, content, metadata)


def _garble_calls(chance: random.Random, spoken: list[_Spoken]) -> None:
    asking = [place for place, (_, _, metadata) in enumerate(spoken) if metadata.get("tool_calls")]
    if asking:
        role, content, metadata = spoken[place := chance.choice(asking)]
        spoken[place] = (role, content, metadata | {"tool_calls": chance.choice(_NO_CALLS)})


def _garble_one_call(chance: random.Random, spoken: list[_Spoken]) -> None:
    for place, (role, content, metadata) in enumerate(spoken):
        calls = metadata.get("tool_calls")
        if isinstance(calls, list) and calls and chance.random() < 0.5:
            changed: list[JsonValue] = list(calls)
            changed[chance.randrange(len(changed))] = chance.choice(
                [
                    None,
                    7,
                    {"id": None, "name": "look", "args": {}},
                    {"id": "y", "args": [1]},
                    {"name": "a b", "args": "{"},
                ]
            )
            spoken[place] = (role, content, metadata | {"tool_calls": changed})


def _forget_metadata(chance: random.Random, spoken: list[_Spoken]) -> None:
    if spoken:
        role, content, _ = spoken[place := chance.randrange(len(spoken))]
        spoken[place] = (role, content, {})


def _change_role(chance: random.Random, spoken: list[_Spoken]) -> None:
    if spoken:
        _, content, metadata = spoken[place := chance.randrange(len(spoken))]
        spoken[place] = (chance.choice(list(MemoryRole)), content, metadata)


def _empty(chance: random.Random, spoken: list[_Spoken]) -> None:
    if spoken:
        role, _, metadata = spoken[place := chance.randrange(len(spoken))]
        spoken[place] = (role, chance.choice(["", " \n", "\ud83d\x00"]), metadata)


_WAYS: tuple[Callable[[random.Random, list[_Spoken]], None], ...] = (
    _remove,
    _remove,
    _double,
    _double,
    _move,
    _shuffle_some,
    _cut_off,
    _intrude,
    _orphan,
    _change_id,
    _change_id,
    _garble_calls,
    _garble_one_call,
    _forget_metadata,
    _change_role,
    _empty,
)
