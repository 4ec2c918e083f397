"""Whether each call of a request has its one result right after it. The model server refuses one that has not."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

Json = dict[str, Any]

#: OpenAI's rule for the names of functions.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def check_calls_answered(messages: list[Json]) -> None:
    """Each call of each message has exactly one tool message right after it, and no tool message is left over."""
    at = 0
    while at < len(messages):
        calls = messages[at].get("tool_calls") or []
        ids = [call["id"] for call in calls]
        assert len(set(ids)) == len(ids), f"message {at} has a call id twice: {ids}"
        assert all(ids), f"message {at} has an empty call id"
        for call in calls:
            assert _NAME.fullmatch(call["function"]["name"]), f"message {at}: {call['function']['name']!r}"
            arguments = json.loads(call["function"]["arguments"], parse_constant=no_constant)
            assert isinstance(arguments, dict), f"message {at}: arguments are {arguments!r}"
        answered = messages[at + 1 : at + 1 + len(ids)]
        assert [answer.get("tool_call_id") for answer in answered] == ids, f"message {at}: {answered}"
        assert all(answer["role"] == "tool" for answer in answered)
        at += 1 + len(ids)
        assert at >= len(messages) or messages[at]["role"] != "tool", f"message {at} answers no call"


def check_outputs_follow(items: list[Json]) -> None:
    """The same of a request to the Responses API: a group of calls, then their outputs in the order asked."""
    waiting: list[str] = []
    last = ""
    for at, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "function_call":
            assert last != "function_call_output" or not waiting, f"item {at}: {waiting} got no output"
            assert item["call_id"] not in ["", *waiting], f"item {at}: call id {item['call_id']!r}"
            waiting.append(item["call_id"])
        elif kind == "function_call_output":
            assert waiting[:1] == [item["call_id"]], (
                f"item {at}: an output of {item['call_id']!r}, not of {waiting}"
            )
            waiting.pop(0)
        elif kind != "reasoning":
            assert not waiting, f"item {at}: {waiting} got no output"
        last = kind
    assert not waiting, f"{waiting} got no output"


def no_constant(name: str) -> NoReturn:
    """For ``parse_constant``: what JSON lacks is refused."""
    raise AssertionError(f"{name} is no JSON")
