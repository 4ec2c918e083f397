"""What a tool raised, as text that a model can be told. Used by whoever runs a call."""

from __future__ import annotations

import traceback

from nonoka.agents.plain_value import clean_text, safe_str
from nonoka.agents.result_text import capped
from nonoka.errors import ToolFailure
from nonoka.records.tool import CallResult

#: a traceback is for the one who wrote the tool; its end says most
TRACEBACK_BYTES = 8_192
MESSAGE_BYTES = 8_192
#: so many of the exceptions of a group are named
PARTS = 20


class ToolRaised(Exception):
    """A tool raised what would end a task, a loop or a process if it went on as it is.

    ``error`` is that exception: SystemExit, KeyboardInterrupt, a CancelledError or StopIteration of the
    tool's own. A CancelledError that reaches the caller unwrapped is therefore always a real cancellation.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"the tool raised {type(error).__name__}")
        self.error = error


def failed_call(error: BaseException) -> CallResult:
    """The result of a call whose tool raised this: type and message, or a ToolFailure's own words."""
    cause = error.error if isinstance(error, ToolRaised) else error
    message = _words(cause)
    if not (isinstance(cause, ToolFailure) and message):
        message = f"{type(cause).__name__}: {message}" if message else type(cause).__name__
    return CallResult(
        content=capped(clean_text(message), MESSAGE_BYTES)[0],
        error_type="tool_failed",
        traceback=_traceback_text(cause),
    )


def _words(error: BaseException) -> str:
    """Its message; of a group also what is in it, which its own message leaves out."""
    message = safe_str(error).strip()
    if not isinstance(error, BaseExceptionGroup):
        return message
    inside = [f"{type(one).__name__}: {_words(one)}".removesuffix(": ") for one in error.exceptions[:PARTS]]
    return f"{message}: {'; '.join(inside)}"


def _traceback_text(error: BaseException) -> str:
    try:
        lines = traceback.format_exception(error)
    except BaseException:  # noqa: BLE001 — an exception's own __str__ or __notes__ may raise anything
        return ""
    return capped(clean_text("".join(lines)), TRACEBACK_BYTES)[0]
