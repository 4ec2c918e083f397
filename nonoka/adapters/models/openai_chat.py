"""``openai:NAME``: one chat completion a request, streamed, through pydantic-ai. The catalog loads this.

Importing it costs most of a second, so nothing imports it at the top of a file.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from urllib.parse import urlsplit

from genai_prices import calc_price
from httpx2 import create_ssl_context
from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider

from nonoka.adapters.models import failures, provider_notes
from nonoka.adapters.models.clean_text import clean_answer, clean_text
from nonoka.adapters.models.estimate import estimated_usage
from nonoka.adapters.models.messages import to_calls, to_messages, to_parameters
from nonoka.adapters.models.openai_failures import failure_of
from nonoka.adapters.models.patience import Patience, Timeouts
from nonoka.ports.model import OnText
from nonoka.records.model import ModelAnswer, ModelRequest, RequestedCall
from nonoka.records.runtime import RuntimeUsage

DEFAULT_BASE_URL = "https://api.openai.com/v1"
#: A stream that ends without a finish reason was cut, however politely the connection closed.
_PROFILE = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)


class OpenAIChat:
    """One model behind one chat completions endpoint. Bound to no event loop; keeps no connection."""

    def __init__(self, name: str, *, base_url: str, api_key: str, timeouts: Timeouts | None = None) -> None:
        self._name = name
        self._base_url = base_url
        self._api_key = api_key
        self._timeouts = timeouts or Timeouts()
        url = urlsplit(base_url)
        server = url.hostname or base_url
        self._asked = failures.Asked(model=name, server=f"{server}:{url.port}" if url.port else server)
        self._origin = f"{provider_notes.PROVIDER} {self._asked.server}"
        self._secrets = (api_key, url.password or "")
        # Reading the certificates takes 20 ms, so it isn't done again for each request.
        self._certificates = create_ssl_context()

    async def respond(self, request: ModelRequest, on_text: OnText) -> ModelAnswer:
        """Ask once, with one HTTP request. Raises ModelFailure; a cancel closes the connection."""
        patience = Patience(self._timeouts, request.timeout_ms)
        messages = to_messages(request, self._origin)
        heard: list[str] = []
        async with self._stream(messages, to_parameters(request), patience) as stream:
            events = aiter(stream)
            while (event := await self._next(events, patience)) is not None:
                if text := clean_text(_text_of(event)):
                    heard.append(text)
                    await on_text(text)
            response = stream.get()
        return self._answer(request, response, "".join(heard))

    @asynccontextmanager
    async def _stream(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters, patience: Patience
    ) -> AsyncIterator[StreamedResponse]:
        # A client of its own for each request: a kept connection would belong to one event loop, and a cancel
        # would have to find it. A new one costs half a millisecond and a handshake.
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(self._client())
            provider = OpenAIProvider(openai_client=client)
            model = OpenAIChatModel(self._name, provider=provider, profile=_PROFILE)
            with self._failures(begun=False):
                async with patience.first_event():
                    stream = await stack.enter_async_context(
                        model_request_stream(model, messages, model_request_parameters=parameters)
                    )
            yield stream

    async def _next(
        self, events: AsyncIterator[ModelResponseStreamEvent], patience: Patience
    ) -> ModelResponseStreamEvent | None:
        with self._failures(begun=True):
            async with patience.next_event():
                return await anext(events, None)

    @contextmanager
    def _failures(self, *, begun: bool) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            raise failures.timed_out(self._asked, str(error)) from error
        except Exception as error:
            raise failure_of(error, self._asked, begun=begun, secrets=self._secrets) from error

    def _client(self) -> AsyncOpenAI:
        # Only connecting is timed by the client; how long it waits for what comes then, Patience says.
        timeout = Timeout(None, connect=self._timeouts.connect_s)
        return AsyncOpenAI(
            base_url=self._base_url,
            api_key=self._api_key,
            max_retries=0,
            timeout=timeout,
            http_client=DefaultAsyncHttpxClient(
                verify=self._certificates,
                timeout=timeout,
                follow_redirects=False,  # it would be a second request
            ),
        )

    def _answer(self, request: ModelRequest, response: ModelResponse, heard: str) -> ModelAnswer:
        details = response.provider_details or {}
        text = heard or str(details.get("refusal") or "")
        calls = to_calls(response)
        ended = details.get("finish_reason")
        if ended == "error":
            raise failures.server_broke(self._asked, "it ended its answer with an error")
        if not text.strip() and not calls:
            if response.finish_reason == "content_filter":
                raise failures.refused(self._asked, "its content filter withheld the answer")
            raise failures.empty_answer(self._asked, f"finish reason {ended!r}")
        return clean_answer(
            ModelAnswer(
                text=text,
                calls=calls,
                usage=self._usage(request, response, text, calls),
                model=response.model_name or self._name,
                provider=provider_notes.take(response, self._origin),
            )
        )

    def _usage(
        self, request: ModelRequest, response: ModelResponse, text: str, calls: Sequence[RequestedCall]
    ) -> RuntimeUsage:
        used = response.usage
        if not (used.input_tokens or used.output_tokens):
            return estimated_usage(request, text, calls)
        return RuntimeUsage(
            input_tokens=used.input_tokens, output_tokens=used.output_tokens, cost_usd=self._cost_usd(response)
        )

    def _cost_usd(self, response: ModelResponse) -> float:
        """By the list price of this server's own address; 0.0 where no price is known."""
        try:
            price = calc_price(response.usage, response.model_name or self._name, provider_api_url=self._base_url)
        except (LookupError, ValueError):
            return 0.0
        return float(price.total_price)


def _text_of(event: ModelResponseStreamEvent) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            return text
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
        case _:
            return ""
