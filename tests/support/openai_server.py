"""A chat completions server on localhost, in a thread, that answers as scripted.

    with OpenAIServer([text("Hello"), calls(("add", {"a": 1})), status(429, retry_after="7")]) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test-key"}
        ...
    assert server.requests[0].messages[-1]["content"] == "hi"

Replies are given in order, one a request, or by a function of the request (then a replayed request gets the
same answer). A request past the last reply gets a 400, so that a test ends. Everything closes at the end.

It is as strict as the strictest provider: a request whose calls don't each have one result right after them
gets a 400, and the block that used the server fails.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from tests.support.call_order import check_calls_answered, check_outputs_follow

Json = dict[str, Any]

#: How a stream ends: as it should; closed cleanly before its last frames; the connection torn down
#: without the chunked encoding's end; or not at all, until the client hangs up.
End = Literal["done", "close", "drop", "stall"]


@dataclass(frozen=True)
class Reply:
    """One answer of the server. ``frames`` are what the stream holds: chunks, or raw text for broken ones."""

    frames: tuple[Json | str, ...] = ()
    last_frames: tuple[Json, ...] = ()
    end: End = "done"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: Json | str = field(default_factory=dict)
    #: answer nothing at all: "stall" until the client hangs up, "drop" at once
    silent: Literal["stall", "drop"] | None = None
    #: before each frame of a stream, unless the server is closing
    pause_s: float = 0

    def ending(self, end: End) -> Reply:
        """The same reply, with another end; but for "done" it has no finish reason and no usage."""
        return replace(self, end=end)

    def trickling(self, pause_s: float) -> Reply:
        """The same reply, each frame of it after a pause."""
        return replace(self, pause_s=pause_s)

    def named(self, *headers: tuple[str, str]) -> Reply:
        """The same reply, with these headers as well."""
        return replace(self, headers=(*self.headers, *headers))


@dataclass(frozen=True)
class Request:
    """A request as the server got it."""

    path: str
    headers: dict[str, str]
    body: Json
    #: The body as it came, for what parsing forgives.
    raw: bytes = b""

    @property
    def messages(self) -> list[Json]:
        """The conversation as sent."""
        return list(self.body["messages"])


#: What a reply is said to have cost unless it says otherwise: tokens in, tokens out.
USAGE = (11, 5)


def text(content: str, *, chunks: int = 2, usage: tuple[int, int] | None = USAGE, finish: str = "stop") -> Reply:
    """A text, streamed in that many pieces."""
    size = max(1, -(-len(content) // chunks))
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    return deltas([{"content": piece} for piece in pieces], usage=usage, finish=finish)


def calls(
    *asked: tuple[str, Json | str],
    ids: Sequence[str] | None = None,
    content: str = "",
    usage: tuple[int, int] | None = USAGE,
) -> Reply:
    """Tool calls as (name, arguments), the arguments of each streamed in two pieces, after an optional text."""
    found: list[Json] = [{"content": content}] if content else []
    for index, (name, arguments) in enumerate(asked):
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
        call_id = ids[index] if ids is not None else f"call_{index}"
        half = len(raw) // 2
        function = {"name": name, "arguments": raw[:half]}
        found.append({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})
        found.append({"tool_calls": [{"index": index, "function": {"arguments": raw[half:]}}]})
    return deltas(found, usage=usage, finish="tool_calls")


def deltas(found: Sequence[Json], *, usage: tuple[int, int] | None = USAGE, finish: str | None = "stop") -> Reply:
    """A stream of these deltas."""
    frames = [_chunk({"role": "assistant", "content": ""}), *(_chunk(delta) for delta in found)]
    last = [_chunk({}, finish)] if finish else []
    if usage is not None:
        counted = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
        last.append({**_chunk({}), "choices": [], "usage": counted})
    return Reply(frames=tuple(frames), last_frames=tuple(last))


def frames(*sent: Json | str) -> Reply:
    """A stream of these frames as they are, and no more; a text is sent without encoding it."""
    return Reply(frames=sent)


def status(code: int, message: str = "as scripted", *, error_code: str = "", retry_after: str = "") -> Reply:
    """An HTTP error in OpenAI's shape."""
    error = {"message": message, "type": "error", "code": error_code or None}
    headers = (("Retry-After", retry_after),) if retry_after else ()
    return Reply(status=code, headers=headers, body={"error": error})


def silence() -> Reply:
    """No answer at all, not even a status, until the client hangs up."""
    return Reply(silent="stall")


def hang_up() -> Reply:
    """The connection is closed without an answer."""
    return Reply(silent="drop")


class _Listening(ThreadingHTTPServer):
    #: many sessions may ask at the same moment; with the default of 5 some would find nobody listening
    request_queue_size = 128


class OpenAIServer:
    """The server; ``url`` is a base URL, ``requests`` what has come in so far."""

    def __init__(self, replies: Sequence[Reply] | Callable[[Request], Reply]) -> None:
        self._replies = replies
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.requests: list[Request] = []
        #: Why requests were refused that no strict provider takes.
        self.refused: list[str] = []
        #: Set once a client has hung up on a reply that stalls.
        self.hung_up = threading.Event()
        server = self

        class Handler(_Handler):
            owner = server

        self._http = _Listening(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = False  # so that closing waits for them
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        """For OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def closing(self) -> bool:
        """No reply should go on."""
        return self._closing.is_set()

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        if kind is None:
            assert self.refused == [], "a strict provider would have refused what was sent"

    def pause(self, seconds: float) -> None:
        """Let that time pass, or what is left until the server closes."""
        if seconds:
            self._closing.wait(seconds)

    def wait_for_requests(self, count: int, *, within_s: float = 20) -> None:
        """Return once that many requests have come in; fails if they don't in time."""
        deadline = time.monotonic() + within_s
        while len(self.requests) < count:
            if time.monotonic() > deadline:
                raise AssertionError(f"{len(self.requests)} requests of {count} within {within_s} s")
            time.sleep(0.01)

    def reply_to(self, request: Request) -> Reply:
        """Note a request and choose its reply."""
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
        try:
            _be_strict(request.body)
        except (AssertionError, LookupError, ValueError) as error:
            self.refused.append(f"request {number}: {error!r}")
            return status(400, f"no strict provider takes this: {error!r}")
        if callable(self._replies):
            return self._replies(request)
        if number <= len(self._replies):
            return self._replies[number - 1]
        return status(400, f"the scripted server has {len(self._replies)} replies; this is request {number}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: OpenAIServer

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a test's output is its own."""

    def do_POST(self) -> None:
        self.close_connection = True
        raw = self.rfile.read(int(self.headers["content-length"]))
        body = json.loads(raw)
        request = Request(self.path, {key.lower(): value for key, value in self.headers.items()}, body, raw)
        reply = self.owner.reply_to(request)
        try:
            if reply.silent is not None:
                self._end_badly(reply.silent)
            elif reply.status != 200:
                self._send_whole(reply, reply.body)
            elif body.get("stream"):
                self._send_stream(reply)
            else:
                self._send_whole(reply, _completion(reply))
        except ConnectionError:
            self.owner.hung_up.set()

    def _send_whole(self, reply: Reply, body: Json | str) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        kind = "text/html" if isinstance(body, str) else "application/json"
        self._send_head(reply, kind, ("Content-Length", str(len(data))))
        self.wfile.write(data)

    def _send_stream(self, reply: Reply) -> None:
        self._send_head(reply, "text/event-stream", ("Transfer-Encoding", "chunked"))
        sent = [*reply.frames, *reply.last_frames, "[DONE]"] if reply.end == "done" else reply.frames
        for frame in sent:
            self.owner.pause(reply.pause_s)
            self._send_chunk(f"data: {frame if isinstance(frame, str) else json.dumps(frame)}\n\n".encode())
        if reply.end in ("done", "close"):
            self.wfile.write(b"0\r\n\r\n")
        else:
            self._end_badly(reply.end)

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _send_head(self, reply: Reply, kind: str, length: tuple[str, str]) -> None:
        self.send_response(reply.status)
        for name, value in (("Content-Type", kind), ("Connection", "close"), length, *reply.headers):
            self.send_header(name, value)
        self.end_headers()

    def _end_badly(self, how: End) -> None:
        connection: socket.socket = self.connection
        while how == "stall" and not self.owner.closing:
            readable, _, _ = select.select([connection], [], [], 0.02)
            if readable and not connection.recv(1):
                self.owner.hung_up.set()
                break
        connection.shutdown(socket.SHUT_RDWR)


def _be_strict(body: Json) -> None:
    if "messages" in body:
        check_calls_answered(body["messages"])
    elif isinstance(body.get("input"), list):
        check_outputs_follow(body["input"])


def _chunk(delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def _completion(reply: Reply) -> Json:
    """The same reply to a client that doesn't stream."""
    sent = [frame for frame in (*reply.frames, *reply.last_frames) if isinstance(frame, dict)]
    choices = [choice for frame in sent for choice in frame["choices"]]
    asked = list(_joined_calls(choice["delta"] for choice in choices))
    message: Json = {"role": "assistant", "content": "".join(c["delta"].get("content") or "" for c in choices)}
    if asked:
        message["tool_calls"] = asked
    finish = next((c["finish_reason"] for c in reversed(choices) if c["finish_reason"]), "stop")
    usage = next((frame["usage"] for frame in sent if frame.get("usage")), None)
    choice = {"index": 0, "message": message, "finish_reason": finish}
    whole = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return {**whole, "usage": usage} if usage else whole


def _joined_calls(found: Iterator[Json]) -> Iterator[Json]:
    whole: dict[int, Json] = {}
    for delta in found:
        for piece in delta.get("tool_calls") or ():
            call = whole.setdefault(
                piece["index"],
                {"id": piece.get("id", ""), "type": "function", "function": {"name": "", "arguments": ""}},
            )
            for key in ("name", "arguments"):
                call["function"][key] += piece["function"].get(key) or ""
    yield from whole.values()
