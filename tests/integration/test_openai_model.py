"""The OpenAI adapter against a real server on localhost, well and ill behaved. One attempt is one request."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.adapters.models.openai_compatible import openai_compatible
from nonoka.adapters.models.patience import Timeouts
from nonoka.adapters.models.provider_settings import Endpoint
from nonoka.adapters.models.provider_table import PROVIDERS, SpeaksOpenAI
from nonoka.adapters.models.request import RequestedModel
from nonoka.errors import ModelFailure
from nonoka.records.model import ModelAnswer, ModelRequest
from nonoka.records.tool import ToolSpec
from tests.support.model_requests import Listener, asking, assistant, result, user
from tests.support.openai_server import (
    End,
    Json,
    OpenAIServer,
    Reply,
    calls,
    deltas,
    frames,
    hang_up,
    silence,
    status,
    text,
)

KEY = "sk-very-secret"
HI = asking(user("hi"))


def chat(name: str, url: str, timeouts: Timeouts | None = None) -> RequestedModel:
    provider = PROVIDERS["openai"]
    assert isinstance(provider, SpeaksOpenAI)
    return openai_compatible(provider, name, Endpoint(url, KEY), timeouts)


async def ask(server: OpenAIServer, request: ModelRequest = HI, listener: Listener | None = None) -> ModelAnswer:
    models = ModelCatalog({"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY})
    model = await models.get("openai:m")
    return await model.respond(request, listener or Listener())


async def failure_of(reply: Reply, request: ModelRequest = HI, listener: Listener | None = None) -> ModelFailure:
    """How the attempt failed, after it was seen to be one request and to keep its secret."""
    with OpenAIServer([reply, reply, reply]) as server:
        with pytest.raises(ModelFailure) as raised:
            await ask(server, request, listener)
        assert len(server.requests) == 1
    assert KEY not in str(raised.value)
    return raised.value


async def test_a_text_streams_in_and_its_usage_is_the_last_frames() -> None:
    listener = Listener()
    with OpenAIServer([text("Hello there", chunks=3, usage=(21, 7))]) as server:
        answer = await ask(server, listener=listener)
    assert answer.text == "Hello there"
    assert listener.heard == ["Hell", "o th", "ere"]
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.estimated) == (21, 7, False)
    assert (answer.usage.cost_usd, answer.model, answer.calls) == (0.0, "m", ())


async def test_what_is_sent_is_the_conversation_with_our_ids_and_the_tools() -> None:
    tool = ToolSpec(name="add", description="Adds.", parameters={"type": "object", "properties": {}})
    request = asking(
        user("a\ud83d\x00"),
        assistant("", ("call_1_0", "add", {"a": 1}), ("call_1_1", "add", "{bad")),
        result("call_1_0", "add", "1"),
        result("call_1_1", "add", "invalid"),
        assistant(""),
        user("go on"),
        instructions="Be brief.",
    ).model_copy(update={"tools": (tool,)})
    with OpenAIServer([text("ok")]) as server:
        await ask(server, request)
    (sent,) = server.requests
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert (sent.body["model"], sent.body["stream"], sent.body["stream_options"]) == (
        "m",
        True,
        {"include_usage": True},
    )
    assert [t["function"]["name"] for t in sent.body["tools"]] == ["add"]
    assert [message["role"] for message in sent.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ]
    assert sent.messages[0]["content"] == "Be brief."
    assert sent.messages[1]["content"] == "a\ufffd\ufffd"
    asked = sent.messages[2]["tool_calls"]
    assert [call["id"] for call in asked] == ["call_1_0", "call_1_1"]
    assert [json.loads(call["function"]["arguments"]) for call in asked] == [{"a": 1}, {"INVALID_JSON": "{bad"}]
    assert [message["tool_call_id"] for message in sent.messages[3:5]] == ["call_1_0", "call_1_1"]


@pytest.mark.parametrize("ids", [("dup", "dup"), ("", "")])
async def test_parallel_calls_stay_apart_though_their_ids_do_not(ids: Sequence[str]) -> None:
    with OpenAIServer([calls(("f", {"a": 1}), ("g", {"b": [2]}), ids=ids, content="Both:")]) as server:
        answer = await ask(server)
    assert answer.text == "Both:"
    assert [(call.name, json.loads(call.arguments)) for call in answer.calls] == [
        ("f", {"a": 1}),
        ("g", {"b": [2]}),
    ]


def piece(index: int | None, call_id: str | None, name: str | None, arguments: str) -> Json:
    """A delta with a piece of a call; None is left out."""
    found: Json = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
    found["function"] = {key: value for key, value in found["function"].items() if value is not None}
    return {"tool_calls": [{key: value for key, value in found.items() if value is not None}]}


@pytest.mark.parametrize(
    "pieces",
    [
        [piece(0, "a", "f", '{"x": 1}'), piece(0, "b", "g", '{"y": 2}')],
        [
            *(piece(0, "a", "f", ""), piece(0, None, None, '{"x"'), piece(0, None, None, ": 1}")),
            *(piece(0, "b", "g", '{"y'), piece(0, None, None, '": 2}')),
        ],
        [piece(0, "", "f", '{"x": 1}'), piece(0, "", "g", '{"y": 2}')],
        [piece(0, None, "f", '{"x":'), piece(0, None, None, " 1}"), piece(0, None, "g", '{"y": 2}')],
        [piece(None, "a", "f", '{"x": 1}'), piece(None, "b", "g", '{"y": 2}')],
    ],
    ids=["whole", "in pieces", "empty ids", "no ids", "no index"],
)
async def test_parallel_calls_of_one_index_stay_apart(pieces: list[Json]) -> None:
    """Some servers number every call 0: joined by that number, two would become one that is neither."""
    with OpenAIServer([deltas(pieces, finish="tool_calls")]) as server:
        answer = await ask(server)
    assert [(call.name, call.arguments) for call in answer.calls] == [("f", '{"x": 1}'), ("g", '{"y": 2}')]


async def test_arguments_that_are_not_json_come_back_as_the_model_wrote_them() -> None:
    with OpenAIServer([calls(("f", "{bad"), ("g", ""))]) as server:
        answer = await ask(server)
    assert [call.arguments for call in answer.calls] == ["{bad", ""]


async def test_an_answer_holds_no_lone_surrogate_and_no_nul() -> None:
    listener = Listener()
    reply = deltas(
        [
            {"content": "a\ud83d\x00"},
            {"tool_calls": [{"index": 0, "id": "x", "function": {"name": "f", "arguments": '{"k": "\\ud83d"}'}}]},
        ]
    )
    with OpenAIServer([reply]) as server:
        answer = await ask(server, listener=listener)
    assert answer.text == listener.text == "a\ufffd\ufffd"
    assert answer.calls[0].arguments == '{"k": "\ufffd"}'


async def test_usage_that_the_server_leaves_out_is_estimated_and_says_so() -> None:
    with OpenAIServer([text("12345678", usage=None)]) as server:
        answer = await ask(server, asking(user("x" * 40)))
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.estimated) == (10, 2, True)


async def test_thinking_is_no_text_and_goes_back_to_its_server_with_the_calls_it_led_to() -> None:
    function = {"name": "f", "arguments": "{}"}
    reply = deltas(
        [{"reasoning_content": "let me think"}, {"tool_calls": [{"index": 0, "id": "x", "function": function}]}]
    )
    listener = Listener()
    with OpenAIServer([reply, text("done")]) as server:
        answer = await ask(server, listener=listener)
        asked = assistant("", ("call_1_0", "f", {}), provider=answer.provider)
        again = asking(user("q"), asked, result("call_1_0", "f", "seen"))
        await ask(server, again)
    assert (answer.text, listener.heard) == ("", [])
    assert server.requests[1].messages[1]["reasoning_content"] == "let me think"


async def test_a_model_thinking_in_tags_answers_without_them() -> None:
    reply = deltas([{"content": "<think>"}, {"content": "hm"}, {"content": "</think>"}, {"content": "Yes."}])
    listener = Listener()
    with OpenAIServer([reply]) as server:
        answer = await ask(server, listener=listener)
    assert answer.text == listener.text == "Yes."
    assert answer.provider == {}


async def test_an_answer_cut_by_its_length_is_an_answer() -> None:
    with OpenAIServer([text("as far as it", finish="length")]) as server:
        assert (await ask(server)).text == "as far as it"


async def test_a_key_that_is_refused_says_which_variable_to_set() -> None:
    failed = await failure_of(status(401, f"Incorrect API key provided: {KEY}", error_code="invalid_api_key"))
    assert (failed.kind, failed.transient) == ("unauthorized", False)
    assert "OPENAI_API_KEY" in str(failed)
    assert "OPENAI_BASE_URL" in str(failed)
    assert "Incorrect API key provided: ***" in str(failed)


@pytest.mark.parametrize("reply", [status(404, "gone"), status(400, "gone", error_code="model_not_found")])
async def test_an_unknown_model_is_named_with_how_to_choose_another(reply: Reply) -> None:
    failed = await failure_of(reply)
    assert (failed.kind, failed.transient) == ("unknown_model", False)
    for part in ("'m'", "gone", "--model", "NONOKA_MODEL"):
        assert part in str(failed)


async def test_too_many_requests_waits_as_long_as_the_server_says() -> None:
    failed = await failure_of(status(429, "slow down", retry_after="7"))
    assert (failed.kind, failed.transient, failed.retry_after_ms) == ("rate_limited", True, 7000)


async def test_the_time_to_wait_may_be_a_date() -> None:
    at = datetime.now(UTC) + timedelta(hours=1)
    failed = await failure_of(status(429, retry_after=format_datetime(at, usegmt=True)))
    assert failed.retry_after_ms is not None
    assert 3_500_000 < failed.retry_after_ms <= 3_600_000


@pytest.mark.parametrize(
    ("said", "waits_ms"),
    [("0", 0), (" 3 ", 3000), ("-5", None), ("soon", None), ("nan", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
)
async def test_a_time_to_wait_that_means_nothing_is_not_waited_for(said: str, waits_ms: int | None) -> None:
    """Then the wait is our own."""
    failed = await failure_of(status(429, retry_after=said))
    assert (failed.kind, failed.retry_after_ms) == ("rate_limited", waits_ms)


async def test_a_used_up_quota_is_not_waited_for() -> None:
    failed = await failure_of(status(429, "no credit", error_code="insufficient_quota"))
    assert (failed.kind, failed.transient) == ("rate_limited", False)
    assert "no credit" in str(failed)


@pytest.mark.parametrize("code", [408, 409, 500, 502, 503, 529])
async def test_a_server_error_may_pass(code: int) -> None:
    failed = await failure_of(status(code, "oops"))
    assert (failed.kind, failed.transient) == ("server_error", True)
    assert "oops" in str(failed)


async def test_an_error_page_is_cut_short() -> None:
    failed = await failure_of(Reply(status=502, body="<html>" + "x" * 5000))
    assert (failed.kind, failed.transient) == ("server_error", True)
    assert len(str(failed)) < 700


@pytest.mark.parametrize("code", [400, 413, 422])
async def test_a_refused_request_fails_for_good_with_the_servers_words(code: int) -> None:
    failed = await failure_of(status(code, "messages[3] is odd"))
    assert (failed.kind, failed.transient) == ("bad_request", False)
    assert "messages[3] is odd" in str(failed)


async def test_a_redirect_is_not_followed() -> None:
    """Following it would be a second request, perhaps to another host."""
    moved = Reply(status=307, headers=(("Location", "/v1/elsewhere"),))
    failed = await failure_of(moved)
    assert failed.kind == "bad_request"
    assert not failed.transient
    assert "OPENAI_BASE_URL" in str(failed)


@pytest.mark.parametrize("end", ["drop", "close"])
async def test_a_stream_that_ends_without_a_finish_reason_was_cut_off(end: End) -> None:
    listener = Listener()
    failed = await failure_of(text("half an answer").ending(end), listener=listener)
    assert (failed.kind, failed.transient) == ("cut_off", True)
    assert listener.text == "half an answer"


@pytest.mark.parametrize("end", ["drop", "close"])
async def test_half_a_calls_arguments_are_never_taken_for_a_call(end: End) -> None:
    failed = await failure_of(calls(("f", {"a": 1})).ending(end))
    assert (failed.kind, failed.transient) == ("cut_off", True)


async def test_a_connection_closed_without_an_answer_is_the_network() -> None:
    failed = await failure_of(hang_up())
    assert (failed.kind, failed.transient) == ("network", True)


async def test_a_server_that_is_not_there_is_the_network() -> None:
    with OpenAIServer([]) as server:
        url = server.url
    with pytest.raises(ModelFailure) as raised:
        await chat("m", url).respond(HI, Listener())
    assert (raised.value.kind, raised.value.transient) == ("network", True)
    assert url.split("/")[2] in str(raised.value)


@pytest.mark.parametrize("reply", [silence(), text("half").ending("stall")])
async def test_an_answer_that_outlasts_what_is_left_is_a_timeout(reply: Reply) -> None:
    failed = await failure_of(reply, asking(user("hi"), timeout_ms=300))
    assert (failed.kind, failed.transient) == ("timeout", True)
    assert "0.3 s" in str(failed)


@pytest.mark.parametrize(
    ("reply", "timeouts", "said"),
    [
        (silence(), Timeouts(first_event_s=0.2), "no answer began within 0.2 s"),
        (text("half").ending("stall"), Timeouts(chunk_s=0.2), "nothing more came within 0.2 s"),
        (text("half").ending("stall"), Timeouts(whole_s=0.5), "no whole answer within 0.5 s"),
    ],
)
async def test_each_wait_has_its_own_limit(reply: Reply, timeouts: Timeouts, said: str) -> None:
    with OpenAIServer([reply, reply]) as server:
        model = chat("m", server.url, timeouts)
        with pytest.raises(ModelFailure, match=said) as raised:
            await model.respond(HI, Listener())
        assert len(server.requests) == 1
    assert (raised.value.kind, raised.value.transient) == ("timeout", True)


async def test_an_empty_answer_may_pass() -> None:
    failed = await failure_of(deltas([]))
    assert (failed.kind, failed.transient) == ("empty_answer", True)


async def test_an_error_inside_the_stream_may_pass() -> None:
    begun = text("half").frames
    failed = await failure_of(frames(*begun, {"error": {"message": "boom", "code": "server_error"}}))
    assert (failed.kind, failed.transient) == ("server_error", True)
    assert "boom" in str(failed)


@pytest.mark.parametrize(
    "broken", ["{bad", "3", '{"choices": 3}', '{"choices": [{"delta": {"tool_calls": [7]}}]}']
)
async def test_a_frame_that_nobody_can_read_may_pass(broken: str) -> None:
    for reply in (frames(broken), frames(*text("half").frames, broken)):
        failed = await failure_of(reply)
        assert (failed.kind, failed.transient) == ("server_error", True)
        assert "can't be read" in str(failed)


async def test_what_the_listener_raises_is_not_the_models_failure() -> None:
    class Lost(Exception):
        pass

    async def deaf(_: str) -> None:
        raise Lost

    with OpenAIServer([text("Hello").ending("stall")]) as server:
        model = chat("m", server.url)
        with pytest.raises(Lost):
            await model.respond(HI, deaf)
        assert await asyncio.to_thread(server.hung_up.wait, 10)


@pytest.mark.parametrize("reply", [silence(), text("half").ending("stall")])
async def test_cancelling_closes_the_connection(reply: Reply) -> None:
    with OpenAIServer([reply]) as server:
        asked = asyncio.create_task(ask(server))
        await asyncio.to_thread(server.wait_for_requests, 1)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert await asyncio.to_thread(server.hung_up.wait, 10)


def test_one_model_serves_several_event_loops_and_leaves_nothing_open() -> None:
    """Warnings are errors here: an open connection or client would fail at collection."""
    with OpenAIServer([text("one"), text("two")]) as server:
        model = chat("m", server.url)
        answers = [asyncio.run(model.respond(HI, Listener())).text for _ in range(2)]
        gc.collect()
    assert answers == ["one", "two"]


async def test_the_price_is_the_list_price_of_the_servers_own_address() -> None:
    """A local server that calls its model gpt-4o-mini costs nothing."""
    with OpenAIServer([text("hi", usage=(1000, 100))]) as server:
        answer = await chat("gpt-4o-mini", server.url).respond(HI, Listener())
    assert answer.usage.cost_usd == 0.0
