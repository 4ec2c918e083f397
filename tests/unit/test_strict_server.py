"""The model server of the tests refuses what strict providers refuse, or no test that uses it would mean much."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.support.call_order import check_calls_answered, check_outputs_follow
from tests.support.openai_server import OpenAIServer, text

Json = dict[str, Any]


def asks(*ids: str, name: str = "f", arguments: str = "{}") -> Json:
    found = [{"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}} for id_ in ids]
    return {"role": "assistant", "tool_calls": found}


def tells(call_id: str) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": "seen"}


SAID: Json = {"role": "user", "content": "hi"}


def test_calls_with_their_results_right_after_them_are_taken() -> None:
    check_calls_answered([SAID, asks("a", "b"), tells("a"), tells("b"), SAID, asks("a"), tells("a")])


@pytest.mark.parametrize(
    "messages",
    [
        [asks("a")],
        [asks("a"), SAID],
        [asks("a"), SAID, tells("a")],
        [asks("a", "b"), tells("a")],
        [asks("a", "b"), tells("b"), tells("a")],
        [asks("a"), tells("b")],
        [asks("a"), tells("a"), tells("a")],
        [SAID, tells("a")],
        [asks("a", "a"), tells("a"), tells("a")],
        [asks(""), tells("")],
        [asks("a", name="no such"), tells("a")],
        [asks("a", arguments="[1]"), tells("a")],
    ],
)
def test_any_other_order_number_or_id_is_refused(messages: list[Json]) -> None:
    with pytest.raises(AssertionError):
        check_calls_answered(messages)


@pytest.mark.parametrize(("items", "fits"), [("cco", False), ("coo", False), ("cmo", False), ("crco", True)])
def test_the_responses_api_is_judged_by_the_same_rule(items: str, fits: bool) -> None:
    """``c`` a call, ``o`` the output of the call that waits longest, ``m`` a message, ``r`` reasoning."""
    kinds = {"c": "function_call", "o": "function_call_output", "m": "message", "r": "reasoning"}
    calls, outputs = iter("123"), iter("123")
    found = [
        {"type": kinds[item], "call_id": next(calls) if item == "c" else next(outputs) if item == "o" else ""}
        for item in items + ("o" if fits else "")
    ]
    if fits:
        check_outputs_follow(found)
    else:
        with pytest.raises(AssertionError):
            check_outputs_follow(found)


def test_the_server_answers_400_and_the_block_that_used_it_fails() -> None:
    """A scenario that trips it can't pass by retrying."""
    with pytest.raises(AssertionError, match="strict"):
        _use_badly()


def _use_badly() -> None:
    with OpenAIServer([text("hi")]) as server:
        body = json.dumps({"model": "m", "messages": [SAID, asks("a"), SAID]}).encode()
        request = urllib.request.Request(f"{server.url}/chat/completions", body)
        with pytest.raises(urllib.error.HTTPError, match="400") as raised:
            urllib.request.urlopen(request)
        raised.value.close()
        assert len(server.requests) == 1
