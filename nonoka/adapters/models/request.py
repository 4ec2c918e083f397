"""One request to a model through pydantic-ai, with patience, as an answer or a failure of ours.

The openers (``openai_compatible``, ``own_client``) make these. Importing this costs most of a second, so
nothing imports it at the top of a file that is loaded before a model is used.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager

from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings

from nonoka.adapters.models import failures
from nonoka.adapters.models.answer import Heard, to_answer
from nonoka.adapters.models.clean_text import clean_text
from nonoka.adapters.models.messages import to_messages, to_parameters
from nonoka.adapters.models.patience import Patience, Timeouts
from nonoka.adapters.models.provider_notes import Origin
from nonoka.adapters.models.request_failures import failure_of, unopened
from nonoka.ports.model import OnText
from nonoka.records.model import ModelAnswer, ModelRequest

#: A model of pydantic-ai's whose client is closed at the end.
OpenModel = Callable[[], AbstractAsyncContextManager[Model]]


class RequestedModel:
    """One model of one provider. Bound to no event loop; keeps no connection."""

    def __init__(
        self, asked: failures.Asked, open_model: OpenModel, *, secrets: Sequence[str], timeouts: Timeouts
    ) -> None:
        self._asked = asked
        self._open_model = open_model
        self._secrets = secrets
        self._timeouts = timeouts

    async def respond(self, request: ModelRequest, on_text: OnText) -> ModelAnswer:
        """Ask once, with one HTTP request. Raises ModelFailure; a cancel closes the connection."""
        patience = Patience(self._timeouts, request.timeout_ms)
        heard: list[str] = []
        # A client of its own for each request: a kept connection would belong to one event loop, and a cancel
        # would have to find it. A new one costs half a millisecond and a handshake.
        async with AsyncExitStack() as stack:
            model = await self._opened(stack)
            origin = Origin(model.system, self._asked.server)
            messages = to_messages(request, origin)
            stream = await self._begin(stack, model, messages, to_parameters(request), patience)
            events = aiter(stream)
            while (event := await self._next(events, patience)) is not None:
                if text := clean_text(_text_of(event)):
                    heard.append(text)
                    await on_text(text)
            response, address = stream.get(), _address(model)
        return to_answer(request, response, Heard(self._asked, origin, address, "".join(heard)))

    async def _opened(self, stack: AsyncExitStack) -> Model:
        try:
            return await stack.enter_async_context(self._open_model())
        except Exception as error:
            raise unopened(error, self._asked, self._secrets) from error

    async def _begin(
        self,
        stack: AsyncExitStack,
        model: Model,
        messages: list[ModelMessage],
        parameters: ModelRequestParameters,
        patience: Patience,
    ) -> StreamedResponse:
        asking = model_request_stream(
            model, messages, model_settings=_settings(model), model_request_parameters=parameters
        )
        with self._failures(begun=False):
            async with patience.first_event():
                return await stack.enter_async_context(asking)

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


def _settings(model: Model) -> ModelSettings:
    # A client that can't be told to ask once would only warn that it can't.
    return ModelSettings() if "max_retries" in model.unsupported_settings else ModelSettings(max_retries=0)


def _address(model: Model) -> str:
    try:
        return model.base_url or ""
    except Exception:  # noqa: BLE001  some clients choose it only as they ask
        return ""


def _text_of(event: ModelResponseStreamEvent) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            return text
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
        case _:
            return ""
