"""What a server that speaks the Responses API streams, as replies of the server in ``openai_server``.

with OpenAIServer([answer(said("Hello")), answer(called("add", {"a": 1}))]) as server:
    ...
assert server.requests[0].body["input"][-1]["content"] == "hi"
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.openai_server import USAGE, Reply

Json = dict[str, Any]
#: One item of an answer: what it is when whole, and the frames between its beginning and its end.
Item = tuple[Json, list[Json]]


def said(content: str, *, item_id: str = "msg_1", chunks: int = 2, phase: str | None = None) -> Item:
    """A text, streamed in that many pieces."""
    size = max(1, -(-len(content) // chunks))
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    place = {"item_id": item_id, "output_index": 0, "content_index": 0}
    text = {"type": "output_text", "text": content, "annotations": []}
    frames: list[Json] = [
        {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []} for piece in pieces
    ]
    frames.append({"type": "response.output_text.done", **place, "text": content, "logprobs": []})
    item: Json = {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": [text]}
    return ({**item, "phase": phase} if phase else item), frames


def called(name: str, arguments: Json | str, *, call_id: str = "call_x", item_id: str = "fc_1") -> Item:
    """A call of a function, its arguments streamed in two pieces."""
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    half = len(raw) // 2
    place = {"item_id": item_id, "output_index": 0}
    frames: list[Json] = [
        {"type": "response.function_call_arguments.delta", **place, "delta": piece}
        for piece in (raw[:half], raw[half:])
    ]
    frames.append({"type": "response.function_call_arguments.done", **place, "arguments": raw, "name": name})
    item = {"type": "function_call", "id": item_id, "call_id": call_id, "name": name, "arguments": raw}
    return {**item, "status": "completed"}, frames


def thought(summary: str, *, sealed: str, item_id: str = "rs_1") -> Item:
    """Reasoning: a summary that may be read, and the sealed whole that only the server can read."""
    place = {"item_id": item_id, "output_index": 0, "summary_index": 0}
    part = {"type": "summary_text", "text": summary}
    frames: list[Json] = [
        {"type": "response.reasoning_summary_part.added", **place, "part": {**part, "text": ""}},
        {"type": "response.reasoning_summary_text.delta", **place, "delta": summary},
    ]
    return {"type": "reasoning", "id": item_id, "summary": [part], "encrypted_content": sealed}, frames


def declined(refusal: str) -> Item:
    """A refusal in place of a text."""
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    frames: list[Json] = [{"type": "response.refusal.done", **place, "refusal": refusal}]
    content = [{"type": "refusal", "refusal": refusal}]
    item: Json = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    return item, frames


def answer(
    *items: Item, usage: tuple[int, int] | None = USAGE, status: str = "completed", reason: str = ""
) -> Reply:
    """A stream of these items; ``reason`` is why one is incomplete."""
    frames: list[Json] = [{"type": "response.created", "response": _response("in_progress")}]
    for whole, between in items:
        begun = {**whole, "status": "in_progress"}
        begun |= {key: empty for key, empty in _BEGUN.get(whole["type"], {}).items() if key in whole}
        frames.append({"type": "response.output_item.added", "output_index": 0, "item": begun})
        frames += between
        frames.append({"type": "response.output_item.done", "output_index": 0, "item": whole})
    ended = _response(status, output=[whole for whole, _ in items])
    if usage is not None:
        ended["usage"] = _usage(*usage)
    if reason:
        ended["incomplete_details"] = {"reason": reason}
    last: Json = {"type": f"response.{status}", "response": ended}
    return Reply(frames=tuple(_numbered(frames)), last_frames=({**last, "sequence_number": len(frames)},))


def failing(code: str, message: str) -> Reply:
    """A stream that begins, and then says that the response has failed."""
    error = {"code": code, "message": message}
    begun: Json = {"type": "response.created", "response": _response("in_progress")}
    failed: Json = {"type": "response.failed", "response": {**_response("failed"), "error": error}}
    return Reply(frames=tuple(_numbered([begun, failed])))


def error_event(code: str, message: str) -> Reply:
    """A stream that holds nothing but an error."""
    event: Json = {"type": "error", "code": code, "message": message, "param": None}
    return Reply(frames=tuple(_numbered([event])))


_BEGUN: dict[str, Json] = {
    "message": {"content": []},
    "function_call": {"arguments": ""},
    "reasoning": {"summary": [], "encrypted_content": None},
}


def _numbered(frames: list[Json]) -> list[Json]:
    return [{**frame, "sequence_number": number} for number, frame in enumerate(frames)]


def _usage(sent: int, answered: int) -> Json:
    return {
        "input_tokens": sent,
        "output_tokens": answered,
        "total_tokens": sent + answered,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }


def _response(status: str, output: list[Json] | None = None) -> Json:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": status,
        "output": output or [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "temperature": None,
        "top_p": None,
    }
