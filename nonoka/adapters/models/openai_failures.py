"""What went wrong in a request through pydantic-ai, as a failure of ours. The OpenAI adapter calls this."""

from __future__ import annotations

from collections.abc import Sequence

from openai import APIStatusError
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelTimeoutError,
    UserError,
)

from nonoka.adapters.models import failures
from nonoka.adapters.models.clean_text import clean_text
from nonoka.adapters.models.failures import Asked
from nonoka.errors import ModelFailure

#: Enough of a server's message to understand it; error pages run to kilobytes.
_LONGEST_MESSAGE = 500


def failure_of(error: Exception, asked: Asked, *, begun: bool, secrets: Sequence[str]) -> ModelFailure:
    """The failure that an exception means. ``begun``: part of the answer had come. No secret is in it."""
    said = _without(secrets, _said(error))
    match error:
        case ModelQuotaExceededError():
            return failures.quota_used_up(asked, getattr(error, "status_code", 429), said)
        case ModelHTTPError():
            return failures.failure_of_status(
                asked,
                error.status_code,
                said,
                code=error.provider_error_code or "",
                retry_after_s=error.retry_after,
            )
        case ModelAPIError(__cause__=APIStatusError(status_code=status)) if status < 400:
            return failures.redirected(asked, status)
        case ModelTimeoutError():
            return failures.timed_out(asked, said)
        case ModelConnectionError():
            return failures.cut_off(asked, said) if begun else failures.no_connection(asked, said)
        case ModelAPIError() if error.in_stream:
            return failures.server_broke(asked, said)
        case ModelAPIError():
            return failures.cut_off(asked, said) if begun else failures.server_broke(asked, said)
        case UserError():
            return failures.refused(asked, said)
        case _:
            return failures.server_broke(asked, f"its answer can't be read: {type(error).__name__}: {said}")


def _said(error: Exception) -> str:
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        nested = body.get("error")
        body = nested if isinstance(nested, dict) else body
        said = body.get("message") or body.get("detail") or nested or body
    else:
        said = body or _deepest(error)
    return str(said)


def _deepest(error: BaseException) -> str:
    """The text nearest the cause: "Connection error." says less than "All connection attempts failed"."""
    texts = [str(error)]
    while error.__cause__ is not None:
        error = error.__cause__
        texts.append(str(error))
    return next((text for text in reversed(texts) if text), type(error).__name__)


def _without(secrets: Sequence[str], text: str) -> str:
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    text = " ".join(clean_text(text).split())
    return text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE] + "…"
