"""A response of pydantic-ai's as an answer of ours, with what it used and cost. The request calls this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from genai_prices import calc_price
from pydantic_ai.messages import ModelResponse

from nonoka.adapters.models import failures, provider_notes
from nonoka.adapters.models.clean_text import clean_answer
from nonoka.adapters.models.estimate import estimated_usage
from nonoka.adapters.models.messages import to_calls
from nonoka.adapters.models.provider_notes import Origin
from nonoka.records.model import ModelAnswer, ModelRequest, RequestedCall
from nonoka.records.runtime import RuntimeUsage


@dataclass(frozen=True)
class Heard:
    """Whom an answer came from, and its text as it streamed. ``address`` is empty where it isn't known."""

    asked: failures.Asked
    origin: Origin
    address: str
    text: str


def to_answer(request: ModelRequest, response: ModelResponse, heard: Heard) -> ModelAnswer:
    """The whole answer. Raises ModelFailure for one that was cut, says nothing, or ended with an error."""
    details = response.provider_details or {}
    ended = response.finish_reason or details.get("finish_reason")
    if response.state != "complete" or not ended:
        raise failures.cut_off(heard.asked, "it ended without a finish reason")
    if ended == "error":
        raise failures.server_broke(heard.asked, "it ended its answer with an error")
    text = heard.text or str(details.get("refusal") or "")
    calls = to_calls(response)
    if not text.strip() and not calls:
        if ended == "content_filter":
            raise failures.refused(heard.asked, "its content filter withheld the answer")
        raise failures.empty_answer(heard.asked, f"finish reason {details.get('finish_reason', ended)!r}")
    return clean_answer(
        ModelAnswer(
            text=text,
            calls=calls,
            usage=_usage(request, response, heard, text, calls),
            model=response.model_name or heard.asked.model,
            provider=provider_notes.take(response, heard.origin),
        )
    )


def _usage(
    request: ModelRequest, response: ModelResponse, heard: Heard, text: str, calls: Sequence[RequestedCall]
) -> RuntimeUsage:
    used = response.usage
    if not (used.input_tokens or used.output_tokens):
        return estimated_usage(request, text, calls).model_copy(update={"cost_unknown": True})
    cost_usd = _cost_usd(response, heard)
    return RuntimeUsage(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cost_usd=cost_usd or 0.0,
        cost_unknown=cost_usd is None,
    )


def _cost_usd(response: ModelResponse, heard: Heard) -> float | None:
    """By the list price of this server's own address; None where no price is known."""
    model = response.model_name or heard.asked.model
    try:
        if heard.address:
            price = calc_price(response.usage, model, provider_api_url=heard.address)
        else:
            price = calc_price(response.usage, model, provider_id=heard.origin.system)
    except (LookupError, ValueError):
        return None
    return float(price.total_price)
