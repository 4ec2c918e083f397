"""A crowd of writing processes, and what each has said of itself."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[2]


@dataclass
class Writer:
    """A process; ``commits`` and ``longest_ms`` are what it said last."""

    process: subprocess.Popen[str]
    pause_s: float
    commits: int = 0
    longest_ms: int = 0

    def listen(self) -> None:
        """Note what it says until it ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.commits, self.longest_ms = map(int, line.split())


@contextmanager
def crowd(file: Path, pauses_s: list[float]) -> Iterator[list[Writer]]:
    """So many processes write to this store inside the block, each with that pause after a commit."""
    pipe, program = subprocess.PIPE, ["-m", "tests.support.writers", str(file)]
    writers = [
        Writer(
            subprocess.Popen(
                [sys.executable, *program, f"w{number}", str(pause)], cwd=_ROOT, stdin=pipe, stdout=pipe, text=True
            ),
            pause,
        )
        for number, pause in enumerate(pauses_s)
    ]
    listeners = [threading.Thread(target=writer.listen) for writer in writers]
    for listener in listeners:
        listener.start()
    try:
        yield writers
    finally:
        for writer, listener in zip(writers, listeners, strict=True):
            assert writer.process.stdin is not None
            writer.process.stdin.close()
            writer.process.wait()
            listener.join()
            assert writer.process.stdout is not None
            writer.process.stdout.close()
