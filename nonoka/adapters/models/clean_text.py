"""Text as every store and strict server takes it: valid UTF-8 without NUL. The model adapters call this.

What can't be kept becomes U+FFFD; the two halves of a split surrogate pair become the character they meant.
"""

from __future__ import annotations

import json
import math
import re

from pydantic import JsonValue

from nonoka.records.model import ModelAnswer, RequestedCall

_UNFIT = re.compile("[\x00\ud800-\udfff]")
_MAY_HOLD_UNFIT = re.compile(r"\\u(?:0000|[dD][89a-fA-F])|NaN|Infinity")


def clean_text(text: str) -> str:
    """The text without lone surrogates and NUL."""
    if not _UNFIT.search(text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\x00", "\ufffd")


def clean_json(value: JsonValue) -> JsonValue:
    """The value with every string and key cleaned, and NaN and infinities, which JSON lacks, as text."""
    match value:
        case str():
            return clean_text(value)
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {clean_text(key): clean_json(item) for key, item in value.items()}
        case list():
            return [clean_json(item) for item in value]
        case _:
            return value


def clean_arguments(arguments: str) -> str:
    """A call's raw arguments, in which escapes can't bring back what was cleaned (``\\ud83d``, ``\\u0000``)."""
    arguments = clean_text(arguments)
    if not _MAY_HOLD_UNFIT.search(arguments):
        return arguments
    try:
        value: JsonValue = json.loads(arguments)
        return json.dumps(clean_json(value), ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


def clean_answer(answer: ModelAnswer) -> ModelAnswer:
    """The answer with all that the model wrote cleaned."""
    calls = tuple(
        RequestedCall(
            model_id=clean_text(call.model_id),
            name=clean_text(call.name),
            arguments=clean_arguments(call.arguments),
        )
        for call in answer.calls
    )
    return answer.model_copy(update={"text": clean_text(answer.text), "calls": calls})
