"""What went wrong in a request through pydantic-ai, as a failure of ours. What asks a model calls this."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UserError,
)

from nonoka.adapters.models import failures
from nonoka.adapters.models.clean_text import clean_text
from nonoka.adapters.models.failures import Asked
from nonoka.errors import ModelFailure

#: Enough of a server's message to understand it; error pages run to kilobytes.
_LONGEST_MESSAGE = 500
#: What stands in for a key is a word like any other.
_SHORTEST_SECRET = 6


def failure_of(error: Exception, asked: Asked, *, begun: bool, secrets: Sequence[str]) -> ModelFailure:
    """The failure that an exception means. ``begun``: part of the answer had come. No secret is in it."""
    said = _without(secrets, _said(error))
    match error:
        case ModelQuotaExceededError():
            return failures.quota_used_up(asked, _status(error, 429), said)
        case ModelAuthenticationError():
            return failures.failure_of_status(asked, _status(error, 401), said, code="invalid_api_key")
        case ModelNotFoundError():
            return failures.failure_of_status(asked, _status(error, 404), said, code="model_not_found")
        case ModelRequestRejectedError() if _status(error, 403) == 403:
            return failures.refused(asked, said)
        case ModelRateLimitError():
            return failures.failure_of_status(asked, 429, said, retry_after_s=error.retry_after)
        case ModelHTTPError():
            return failures.failure_of_status(
                asked,
                error.status_code,
                said,
                code=error.provider_error_code or "",
                retry_after_s=error.retry_after,
            )
        case ModelAPIError(__cause__=cause) if 300 <= (status := _status(cause, 0)) < 400:
            return failures.redirected(asked, status)
        case ModelTimeoutError():
            return failures.timed_out(asked, said)
        case ModelConnectionError():
            return failures.cut_off(asked, said) if begun else failures.no_connection(asked, said)
        case ModelAPIError() if error.in_stream:
            return failures.server_broke(asked, said)
        case ModelAPIError(__cause__=ValueError()):
            return failures.server_broke(asked, f"its answer can't be read: {said}")
        case ModelAPIError():
            return failures.cut_off(asked, said) if begun else failures.server_broke(asked, said)
        case UserError():
            return failures.refused(asked, said)
        case UnexpectedModelBehavior() if not begun:
            return failures.cut_off(asked, said)
        case _:
            return failures.server_broke(asked, f"its answer can't be read: {type(error).__name__}: {said}")


def unopened(error: Exception, asked: Asked, secrets: Sequence[str]) -> ModelFailure:
    """A model or its client that could not be made of what is set here; nothing was asked. No secret is in it."""
    said = _without(secrets, f"{type(error).__name__}: {_deepest(error)}")
    return failures.not_set_up(f"{asked.server} can't be asked for {asked.model!r}: {said}")


def _status(error: BaseException | None, default: int) -> int:
    found = getattr(error, "status_code", getattr(error, "code", None))
    return found if isinstance(found, int) else default


def _said(error: Exception) -> str:
    body = _parsed(getattr(error, "body", None))
    if isinstance(body, dict):
        nested = body.get("error")
        body = nested if isinstance(nested, dict) else body
        said = body.get("message") or body.get("detail") or nested or body
    else:
        said = body or _deepest(error)
    return str(said)


def _parsed(body: object) -> object:
    if not isinstance(body, str):
        return body
    try:
        return json.loads(body)
    except ValueError:
        return body


def _deepest(error: BaseException) -> str:
    """The text nearest the cause: "Connection error." says less than "All connection attempts failed"."""
    texts = [str(error)]
    while error.__cause__ is not None:
        error = error.__cause__
        texts.append(str(error))
    return next((text for text in reversed(texts) if text), type(error).__name__)


def _without(secrets: Sequence[str], text: str) -> str:
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "***")
    text = " ".join(clean_text(text).split())
    return text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE] + "…"
