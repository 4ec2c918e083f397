"""Models behind OpenAI's client: ``openai:``, ``openai-responses:``, ``deepseek:``, … The catalog loads this."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from httpx2 import create_ssl_context
from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout
from pydantic_ai.models import Model

from nonoka.adapters.models import failures
from nonoka.adapters.models.classes import model_class, provider_class
from nonoka.adapters.models.patience import Timeouts
from nonoka.adapters.models.provider_settings import Endpoint
from nonoka.adapters.models.provider_table import SpeaksOpenAI
from nonoka.adapters.models.request import RequestedModel


def openai_compatible(
    provider: SpeaksOpenAI, name: str, endpoint: Endpoint, timeouts: Timeouts | None = None
) -> RequestedModel:
    """A model at an endpoint that speaks OpenAI's protocol. Raises ImportError."""
    timeouts = timeouts or Timeouts()
    make_provider, make_model = provider_class(provider.provider), model_class(provider.model)
    connections = _Connections(endpoint, timeouts.connect_s)

    @asynccontextmanager
    async def open_model() -> AsyncIterator[Model]:
        async with connections.client() as client:
            yield make_model(name, provider=make_provider(openai_client=client))

    url = urlsplit(endpoint.base_url)
    host = url.hostname or endpoint.base_url
    asked = failures.Asked(
        model=name,
        server=f"{host}:{url.port}" if url.port else host,
        key_variable=provider.keys[0],
        url_variable=provider.url_variable,
    )
    return RequestedModel(asked, open_model, secrets=(endpoint.api_key, url.password or ""), timeouts=timeouts)


class _Connections:
    """Makes clients for one endpoint, each for one request."""

    def __init__(self, endpoint: Endpoint, connect_s: float) -> None:
        self._endpoint = endpoint
        # Only connecting is timed by the client; how long it waits for what comes then, Patience says.
        self._timeout = Timeout(None, connect=connect_s)
        # Reading the certificates takes 20 ms, so it isn't done again for each request.
        self._certificates = create_ssl_context()

    def client(self) -> AsyncOpenAI:
        return AsyncOpenAI(
            base_url=self._endpoint.base_url,
            api_key=self._endpoint.api_key,
            max_retries=0,
            timeout=self._timeout,
            http_client=DefaultAsyncHttpxClient(
                verify=self._certificates,
                timeout=self._timeout,
                follow_redirects=False,  # it would be a second request
            ),
        )
