"""The built-in tool that reads on in a result that was too large for the conversation."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nonoka.agents.context import ToolContext
from nonoka.agents.tool import tool
from nonoka.errors import ToolFailure

READ_CHARACTERS = 20_000
#: what the note after the text takes at most
NOTE_BYTES = 120


@tool(effect="read_only")
def read_result(
    context: ToolContext,
    handle: str,
    offset: Annotated[int, Field(ge=0)] = 0,
    limit: Annotated[int, Field(ge=1)] = READ_CHARACTERS,
) -> str:
    """Read the whole of an earlier result of which a part was cut out, in pieces.

    A note after each piece says which characters these are and how to go on.

    Args:
        handle: The handle that the cut result names.
        offset: The first character to read, counted from 0.
        limit: How many characters to read at most.
    """
    piece = context.kept_result(handle, offset, limit)
    if piece is None:
        raise ToolFailure(
            f"no result {handle!r} is kept in this session; the handle is in the result that was cut"
        )
    if offset and offset >= piece.total:
        return f"[the result has {piece.total} characters; there is no character {offset}]"
    text = _fitting(piece.text, context.max_result_bytes - NOTE_BYTES)
    end = offset + len(text)
    note = f"characters {offset} to {end} of {piece.total}"
    return f"{text}\n[{note}; go on with offset {end}]" if end < piece.total else f"{text}\n[{note}; the end]"


def _fitting(text: str, max_bytes: int) -> str:
    return text.encode()[:max_bytes].decode(errors="ignore")
