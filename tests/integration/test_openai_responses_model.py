"""``openai-responses:NAME`` against a real server on localhost, well and ill behaved: one attempt, one request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest
from openai.types.responses import ResponseInputParam
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.errors import ModelFailure, ModelFailureKind
from nonoka.records.model import ModelAnswer, ModelRequest
from nonoka.records.tool import ToolSpec
from tests.support.model_requests import Listener, asking, assistant, result, user
from tests.support.openai_server import End, OpenAIServer, Reply, frames, hang_up, silence, status
from tests.support.responses_frames import answer, called, declined, error_event, failing, said, thought

KEY = "sk-very-secret"
HI = asking(user("hi"))


async def ask(
    server: OpenAIServer, request: ModelRequest = HI, listener: Listener | None = None, name: str = "m"
) -> ModelAnswer:
    models = ModelCatalog({"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY})
    model = await models.get(f"openai-responses:{name}")
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
    with OpenAIServer([answer(said("Hello there", chunks=3), usage=(21, 7))]) as server:
        found = await ask(server, listener=listener)
    assert found.text == "Hello there"
    assert listener.heard == ["Hell", "o th", "ere"]
    assert (found.usage.input_tokens, found.usage.output_tokens, found.usage.estimated) == (21, 7, False)
    assert (found.usage.cost_usd, found.model, found.calls, found.provider) == (0.0, "m", (), {})


async def test_what_is_sent_is_a_valid_request_that_leaves_nothing_at_the_server() -> None:
    """With our ids on calls and results; the official client's types parse it."""
    tool = ToolSpec(name="add", description="Adds.", parameters={"type": "object", "properties": {}})
    request = asking(
        user("a\ud83d\x00"),
        assistant("ok", ("call_1_0", "add", {"a": 1}), ("call_1_1", "add", "{bad")),
        result("call_1_0", "add", "1"),
        result("call_1_1", "add", "invalid"),
        assistant(""),
        user("go on"),
        instructions="Be brief.",
    ).model_copy(update={"tools": (tool,)})
    with OpenAIServer([answer(said("ok"))]) as server:
        await ask(server, request)
    (sent,) = server.requests
    assert sent.path == "/v1/responses"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert (sent.body["model"], sent.body["stream"], sent.body["store"]) == ("m", True, False)
    assert sent.body["instructions"] == "Be brief."
    assert [told["name"] for told in sent.body["tools"]] == ["add"]
    TypeAdapter(ResponseCreateParamsStreaming).validate_python(sent.body)
    items = sent.body["input"]
    TypeAdapter(ResponseInputParam).validate_python(items)
    assert [item.get("type", item.get("role")) for item in items] == [
        "user",
        "assistant",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "user",
    ]
    assert items[0]["content"] == "a\ufffd\ufffd"
    assert [item["call_id"] for item in items[2:6]] == ["call_1_0", "call_1_1", "call_1_0", "call_1_1"]
    assert [json.loads(item["arguments"]) for item in items[2:4]] == [{"a": 1}, {"INVALID_JSON": "{bad"}]


@pytest.mark.parametrize("ids", [("dup", "dup"), ("", "")])
async def test_parallel_calls_stay_apart_though_their_ids_do_not(ids: Sequence[str]) -> None:
    reply = answer(
        said("Both:"),
        called("f", {"a": 1}, call_id=ids[0], item_id="fc_1"),
        called("g", {"b": [2]}, call_id=ids[1], item_id="fc_2"),
    )
    with OpenAIServer([reply]) as server:
        found = await ask(server)
    assert found.text == "Both:"
    assert [(call.name, json.loads(call.arguments)) for call in found.calls] == [
        ("f", {"a": 1}),
        ("g", {"b": [2]}),
    ]


async def test_arguments_that_are_not_json_come_back_as_the_model_wrote_them() -> None:
    with OpenAIServer([answer(called("f", "{bad"), called("g", "", item_id="fc_2"))]) as server:
        found = await ask(server)
    assert [call.arguments for call in found.calls] == ["{bad", ""]


async def test_an_answer_holds_no_lone_surrogate_and_no_nul() -> None:
    listener = Listener()
    with OpenAIServer([answer(said("a\ud83d\x00", chunks=1), called("f", '{"k": "\\ud83d"}'))]) as server:
        found = await ask(server, listener=listener)
    assert found.text == listener.text == "a\ufffd\ufffd"
    assert found.calls[0].arguments == '{"k": "\ufffd"}'


async def test_usage_that_the_server_leaves_out_is_estimated_and_says_so() -> None:
    with OpenAIServer([answer(said("12345678"), usage=None)]) as server:
        found = await ask(server, asking(user("x" * 40)))
    assert (found.usage.input_tokens, found.usage.output_tokens, found.usage.estimated) == (10, 2, True)


async def test_sealed_reasoning_goes_back_to_its_server_before_the_call_it_led_to() -> None:
    """Nothing is stored there, so the sealed whole is all that the server has to go on."""
    listener = Listener()
    reply = answer(thought("let me think", sealed="gAAAA"), called("f", {}))
    with OpenAIServer([reply, answer(said("done"))]) as server:
        found = await ask(server, listener=listener, name="gpt-5")
        again = asking(
            user("q"), assistant("", ("call_1_0", "f", {}), provider=found.provider), result("call_1_0", "f", "1")
        )
        await ask(server, again, name="gpt-5")
    assert (found.text, listener.heard) == ("", [])
    assert server.requests[0].body["include"] == ["reasoning.encrypted_content"]
    sent = server.requests[1].body["input"]
    assert [item.get("type", "user") for item in sent] == [
        "user",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert (sent[1]["id"], sent[1]["encrypted_content"]) == ("rs_1", "gAAAA")
    assert "id" not in sent[2]


async def test_another_server_is_not_sent_the_reasoning_of_the_first() -> None:
    with OpenAIServer([answer(thought("hm", sealed="gAAAA"), called("f", {}))]) as first:
        found = await ask(first, name="gpt-5")
    again = asking(
        user("q"), assistant("", ("call_1_0", "f", {}), provider=found.provider), result("call_1_0", "f", "1")
    )
    with OpenAIServer([answer(said("done"))]) as second:
        await ask(second, again, name="gpt-5")
    assert "gAAAA" not in json.dumps(second.requests[0].body)


async def test_an_answer_cut_by_its_length_is_an_answer() -> None:
    reply = answer(said("as far as it"), status="incomplete", reason="max_output_tokens")
    with OpenAIServer([reply]) as server:
        assert (await ask(server)).text == "as far as it"


async def test_a_refusal_is_the_answer() -> None:
    with OpenAIServer([answer(declined("I won't."))]) as server:
        assert (await ask(server)).text == "I won't."


@pytest.mark.parametrize(
    ("reply", "kind", "transient"),
    [
        (status(401, "no", error_code="invalid_api_key"), "unauthorized", False),
        (status(403, "no"), "unauthorized", False),
        (status(404, "gone"), "unknown_model", False),
        (status(400, "gone", error_code="model_not_found"), "unknown_model", False),
        (status(429, "no credit", error_code="insufficient_quota"), "rate_limited", False),
        (status(400, "odd"), "bad_request", False),
        (status(422, "odd"), "bad_request", False),
        (Reply(status=307, headers=(("Location", "/v1/elsewhere"),)), "bad_request", False),
        (status(408), "server_error", True),
        (status(409), "server_error", True),
        (status(500), "server_error", True),
        (status(529), "server_error", True),
        (Reply(status=502, body="<html>" + "x" * 5000), "server_error", True),
        (hang_up(), "network", True),
        (failing("server_error", "boom"), "server_error", True),
        (failing("rate_limit_exceeded", "slow down"), "rate_limited", True),
        (error_event("server_error", "boom"), "server_error", True),
        (answer(), "empty_answer", True),
        (answer(said("  ")), "empty_answer", True),
        (answer(said(""), status="incomplete", reason="content_filter"), "bad_request", False),
    ],
)
async def test_each_way_to_fail_is_told_apart(reply: Reply, kind: ModelFailureKind, transient: bool) -> None:
    failed = await failure_of(reply)
    assert (failed.kind, failed.transient) == (kind, transient)


async def test_too_many_requests_waits_as_long_as_the_server_says() -> None:
    failed = await failure_of(status(429, "slow down", retry_after="7"))
    assert (failed.kind, failed.transient, failed.retry_after_ms) == ("rate_limited", True, 7000)


@pytest.mark.parametrize("end", ["drop", "close"])
@pytest.mark.parametrize("reply", [answer(said("half an answer")), answer(called("f", {"a": 1}))])
async def test_a_stream_without_its_last_frame_was_cut_off(reply: Reply, end: End) -> None:
    """Half a call's arguments are never taken for a call, however politely the connection closes."""
    failed = await failure_of(reply.ending(end))
    assert (failed.kind, failed.transient) == ("cut_off", True)


@pytest.mark.parametrize("broken", ["{bad", "3", '{"type": "response.created", "response": 3}'])
async def test_a_frame_that_nobody_can_read_may_pass(broken: str) -> None:
    for reply in (frames(broken), frames(*answer(said("half")).frames, broken)):
        failed = await failure_of(reply)
        assert failed.kind in ("server_error", "cut_off")
        assert failed.transient


@pytest.mark.parametrize("reply", [silence(), answer(said("half")).ending("stall")])
async def test_an_answer_that_outlasts_what_is_left_is_a_timeout(reply: Reply) -> None:
    failed = await failure_of(reply, asking(user("hi"), timeout_ms=300))
    assert (failed.kind, failed.transient) == ("timeout", True)
    assert "0.3 s" in str(failed)


@pytest.mark.parametrize("reply", [silence(), answer(said("half")).ending("stall")])
async def test_cancelling_closes_the_connection(reply: Reply) -> None:
    with OpenAIServer([reply]) as server:
        asked = asyncio.create_task(ask(server))
        await asyncio.to_thread(server.wait_for_requests, 1)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert await asyncio.to_thread(server.hung_up.wait, 10)
