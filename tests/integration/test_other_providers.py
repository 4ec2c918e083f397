"""Providers other than OpenAI whose client is here anyway, against a real server on localhost."""

from __future__ import annotations

import pytest

from nonoka.adapters.models.catalog import ModelCatalog
from nonoka.adapters.models.provider_table import PROVIDERS, RESPONSES, SpeaksOpenAI
from nonoka.errors import ModelFailure
from nonoka.records.model import ModelAnswer
from tests.support.model_requests import Listener, asking, assistant, result, user
from tests.support.openai_server import End, OpenAIServer, Reply, calls, silence, status, text
from tests.support.responses_frames import answer, called, said
from tests.support.valid_requests import check_calls_answered, strictly_parsed

CHATTING = sorted(n for n, row in PROVIDERS.items() if isinstance(row, SpeaksOpenAI) and row.model != RESPONSES)
KEY = "sk-very-secret"
AGAIN = asking(
    user("q"),
    assistant("ok", ("call_1_0", "f", {"a": 1}), ("call_1_1", "f", "{bad")),
    result("call_1_0", "f", "1"),
    result("call_1_1", "f", "invalid"),
    assistant(" "),
    user("go on"),
    instructions="Be brief.",
)


async def ask(name: str, environment: dict[str, str]) -> ModelAnswer:
    model = await ModelCatalog(environment).get(f"{name}:openai/m")
    return await model.respond(AGAIN, Listener())


def at(name: str, server: OpenAIServer) -> dict[str, str]:
    row = PROVIDERS[name]
    assert isinstance(row, SpeaksOpenAI)
    return {row.keys[0]: KEY, row.url_variable: server.url}


def azure(server: OpenAIServer) -> dict[str, str]:
    return {"AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_ENDPOINT": server.url}


async def azure_failure(reply: Reply) -> ModelFailure:
    with OpenAIServer([reply, reply, reply]) as server:
        with pytest.raises(ModelFailure) as raised:
            await ask("azure", azure(server))
        assert len(server.requests) == 1
    assert KEY not in str(raised.value)
    return raised.value


@pytest.mark.parametrize("name", CHATTING)
async def test_each_one_that_chats_is_sent_the_conversation_and_heard(name: str) -> None:
    with OpenAIServer([calls(("f", {"b": 2}), ids=[""], content="Hm.", usage=(21, 7)), status(500)]) as server:
        found = await ask(name, at(name, server))
        with pytest.raises(ModelFailure):
            await ask(name, at(name, server))
    assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    body = strictly_parsed(server.requests[0].raw)
    check_calls_answered(body["messages"])
    assert (found.text, found.calls[0].arguments) == ("Hm.", '{"b": 2}')
    assert (found.usage.input_tokens, found.usage.output_tokens) == (21, 7)


async def test_meta_is_asked_by_the_responses_api() -> None:
    with OpenAIServer([answer(said("Hm."), called("f", {"b": 2}))]) as server:
        found = await ask("meta", at("meta", server))
    assert (server.requests[0].path, found.text) == ("/v1/responses", "Hm.")


async def test_a_client_of_the_providers_own_is_asked_once_and_closed() -> None:
    """Warnings are errors here: a client left open would fail at collection."""
    with OpenAIServer([calls(("f", {"b": 2}), content="Hm.", usage=(21, 7))]) as server:
        found = await ask("azure", azure(server))
    (sent,) = server.requests
    assert sent.path == "/v1/chat/completions"
    check_calls_answered(sent.messages)
    assert (found.text, found.calls[0].arguments, found.usage.input_tokens) == ("Hm.", '{"b": 2}', 21)


async def test_azures_responses_leave_nothing_at_the_server() -> None:
    with OpenAIServer([answer(said("Hm."))]) as server:
        await ask("azure-responses", azure(server))
    assert (server.requests[0].path, server.requests[0].body["store"]) == ("/v1/responses", False)


async def test_failures_of_another_provider_name_its_own_variables() -> None:
    failed = await azure_failure(status(401, f"Bad key {KEY}"))
    assert (failed.kind, failed.transient) == ("unauthorized", False)
    assert "AZURE_OPENAI_API_KEY" in str(failed)
    assert " OPENAI_API_KEY" not in str(failed)
    with OpenAIServer([status(401, "no")]) as server, pytest.raises(ModelFailure) as raised:
        await ask("deepseek", at("deepseek", server))
    assert "set DEEPSEEK_API_KEY to a key for this server, or DEEPSEEK_BASE_URL" in str(raised.value)


async def test_a_client_of_the_providers_own_does_not_ask_again() -> None:
    failed = await azure_failure(status(429, "slow down", retry_after="7"))
    assert (failed.kind, failed.transient, failed.retry_after_ms) == ("rate_limited", True, 7000)
    assert (await azure_failure(status(503))).kind == "server_error"
    assert (await azure_failure(Reply(status=307, headers=(("Location", "/v1/elsewhere"),)))).kind == "bad_request"


@pytest.mark.parametrize("end", ["drop", "close"])
async def test_a_client_of_the_providers_own_notices_a_cut(end: End) -> None:
    assert (await azure_failure(text("half an answer").ending(end))).kind == "cut_off"


async def test_a_client_of_the_providers_own_waits_no_longer_than_what_is_left() -> None:
    with OpenAIServer([silence()]) as server:
        model = await ModelCatalog(azure(server)).get("azure:m")
        with pytest.raises(ModelFailure, match=r"0\.3 s"):
            await model.respond(AGAIN.model_copy(update={"timeout_ms": 300}), Listener())


async def test_what_the_providers_client_refuses_is_not_set_up() -> None:
    """An Azure address that is not a v1 one needs a version as well."""
    environment = {"AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:1"}
    with pytest.raises(ModelFailure, match="OPENAI_API_VERSION") as raised:
        await ask("azure", environment)
    assert (raised.value.kind, raised.value.transient) == ("not_set_up", False)


async def test_a_name_that_the_provider_can_not_have_fails_for_good_with_its_words() -> None:
    model = await ModelCatalog({"OPENROUTER_API_KEY": KEY}).get("openrouter:m")
    with pytest.raises(ModelFailure, match="must be prefixed with the upstream provider") as raised:
        await model.respond(AGAIN, Listener())
    assert (raised.value.kind, raised.value.transient) == ("not_set_up", False)
