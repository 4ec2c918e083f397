"""The line at the bottom of a terminal that says what is waited for; it leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TextIO

from nonoka.entrypoints.cli.figures import fitted, printable

_START, _REST = "\r", "\x1b[K"


class StatusLine:
    """Is written over, not under; ``clear`` it before anything else is written to that terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._dim, self._plain = ("", "") if os.environ.get("NO_COLOR") else ("\x1b[2m", "\x1b[0m")
        self._shown = ""

    def show(self, text: str) -> None:
        """The text is shown in as much of one line as there is."""
        text = fitted(" ".join(printable(text).split()), shutil.get_terminal_size().columns - 1)
        if text != self._shown:
            self._write(f"{_START}{self._dim}{text}{self._plain}{_REST}")
            self._shown = text

    def clear(self) -> None:
        """The line is empty."""
        if self._shown:
            self._write(_START + _REST)
            self._shown = ""

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def status_line() -> StatusLine | None:
    """The status line of stdout, if that is a terminal that knows how to erase one."""
    able = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return StatusLine(sys.stdout) if able else None
