"""Models of providers that make their own client: ``anthropic:``, ``google:``, … The catalog loads this."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from pydantic_ai.models import Model

from nonoka.adapters.models import failures
from nonoka.adapters.models.classes import model_class, provider_class
from nonoka.adapters.models.patience import Timeouts
from nonoka.adapters.models.provider_table import HasItsOwnClient
from nonoka.adapters.models.request import RequestedModel

#: Arguments that are nobody's business.
_SECRET = ("api_key", "token")


def own_client(
    kind: str,
    provider: HasItsOwnClient,
    name: str,
    arguments: Mapping[str, str],
    timeouts: Timeouts | None = None,
) -> RequestedModel:
    """A model of a provider whose client is made from these arguments. Raises ImportError."""
    make_provider, make_model = provider_class(provider.provider), model_class(provider.model)

    @asynccontextmanager
    async def open_model() -> AsyncIterator[Model]:
        # In a thread: making a client reads certificates, and some read whole catalogs of services.
        made = await asyncio.to_thread(make_provider, **arguments)
        async with made:
            yield make_model(name, provider=made)

    key = next((provider.needs[argument][0] for argument in _SECRET if argument in provider.needs), "")
    url = {**provider.needs, **provider.takes}
    asked = failures.Asked(
        model=name,
        server=kind,
        key_variable=key,
        url_variable=next(
            (url[argument][0] for argument in ("base_url", "azure_endpoint") if argument in url), ""
        ),
    )
    secrets = [arguments[argument] for argument in _SECRET if argument in arguments]
    return RequestedModel(asked, open_model, secrets=secrets, timeouts=timeouts or Timeouts())
