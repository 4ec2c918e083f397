"""A plain web server on localhost, in a thread: paths and what they answer.

with WebServer({"/": Answer(b"hello")}) as server:
    ... server.url ...
assert server.requests[0].path == "/"
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


@dataclass(frozen=True)
class Answer:
    """What a path answers; ``length`` False sends no Content-Length."""

    body: bytes = b""
    content_type: str | None = "text/plain"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    length: bool = True


def moved(location: str, status: int = 302) -> Answer:
    """A redirect."""
    return Answer(status=status, headers={"Location": location})


@dataclass(frozen=True)
class Asked:
    """A request as the server got it; names of headers in lower case."""

    path: str
    headers: dict[str, str]


class WebServer:
    """Serves until the block ends."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.requests: list[Asked] = []
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requests.append(Asked(self.path, {name.lower(): value for name, value in self.headers.items()}))
                answer = answers.get(self.path, Answer(b"nothing", status=404))
                self.send_response(answer.status)
                if answer.content_type is not None:
                    self.send_header("Content-Type", answer.content_type)
                if answer.length:
                    self.send_header("Content-Length", str(len(answer.body)))
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    self.wfile.write(answer.body)
                except OSError:
                    # the client has read as much as it wants
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:
                """Nothing is written to the test's output."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> WebServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
