"""A provider's response as an answer: whole or a failure, and what it cost."""

from __future__ import annotations

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from nonoka.adapters.models.answer import Heard, to_answer
from nonoka.adapters.models.failures import Asked
from nonoka.adapters.models.provider_notes import Origin
from nonoka.errors import ModelFailure, ModelFailureKind
from tests.support.model_requests import asking, user

HI = asking(user("hi"))
USAGE = RequestUsage(input_tokens=1_000_000, output_tokens=100_000)


def heard(text: str = "", address: str = "", system: str = "openai") -> Heard:
    return Heard(Asked(model="m", server="here"), Origin(system, "here"), address, text)


@pytest.mark.parametrize(
    ("address", "system", "model"),
    [
        ("https://api.openai.com/v1/", "openai", "gpt-4o-mini"),
        ("https://api.anthropic.com", "anthropic", "claude-sonnet-4-5"),
        ("https://api.deepseek.com", "deepseek", "deepseek-chat"),
        ("", "groq", "llama-3.3-70b-versatile"),
    ],
)
def test_a_known_price_is_the_list_price_at_that_address(address: str, system: str, model: str) -> None:
    response = ModelResponse(parts=[TextPart("x")], model_name=model, usage=USAGE, finish_reason="stop")
    assert to_answer(HI, response, heard("x", address, system)).usage.cost_usd > 0


@pytest.mark.parametrize(("address", "model"), [("http://localhost/v1", "gpt-4o-mini"), ("", "nobody-knows-it")])
def test_an_unknown_price_is_no_price(address: str, model: str) -> None:
    response = ModelResponse(parts=[TextPart("x")], model_name=model, usage=USAGE, finish_reason="stop")
    usage = to_answer(HI, response, heard("x", address, "nobody")).usage
    assert (usage.cost_usd, usage.input_tokens, usage.estimated) == (0.0, 1_000_000, False)


def test_a_refusal_is_the_answer_where_there_is_no_text() -> None:
    response = ModelResponse(
        parts=[], finish_reason="content_filter", provider_details={"refusal": "I won't.", "finish_reason": "stop"}
    )
    assert to_answer(HI, response, heard()).text == "I won't."


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (ModelResponse(parts=[TextPart("x")]), "cut_off"),
        (ModelResponse(parts=[ToolCallPart("f", '{"a"')], finish_reason=None), "cut_off"),
        (ModelResponse(parts=[TextPart("x")], finish_reason="stop", state="incomplete"), "cut_off"),
        (ModelResponse(parts=[TextPart("x")], finish_reason="error"), "server_error"),
        (ModelResponse(parts=[], finish_reason="stop"), "empty_answer"),
        (ModelResponse(parts=[], finish_reason="content_filter"), "bad_request"),
    ],
)
def test_what_is_no_whole_answer_is_a_failure(response: ModelResponse, kind: ModelFailureKind) -> None:
    text = response.text or ""
    with pytest.raises(ModelFailure) as raised:
        to_answer(HI, response, heard(text))
    assert raised.value.kind == kind


def test_a_finish_reason_that_pydantic_ai_does_not_know_is_one_too() -> None:
    response = ModelResponse(parts=[TextPart("x")], provider_details={"finish_reason": "end_of_thought"})
    assert to_answer(HI, response, heard("x")).text == "x"
