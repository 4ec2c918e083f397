"""Some lines at the bottom of a terminal that are written over as they change; ``clear`` leaves nothing behind."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import TextIO

from nonoka.entrypoints.cli.screen import Span, Style

_CODES: dict[Style, str] = {"": "", "good": "32", "bad": "1;31", "warn": "33", "dim": "2", "strong": "1"}


class LiveBlock:
    """Is written over, not under; ``clear`` it before anything else is written to that terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._coloured = not os.environ.get("NO_COLOR")
        self._lines: list[str] = []

    @property
    def columns(self) -> int:
        """How wide the terminal is."""
        return shutil.get_terminal_size().columns

    @property
    def most(self) -> int:
        """How many lines there is room for, with one for what is written beside."""
        return max(2, shutil.get_terminal_size().lines - 2)

    def show(self, lines: Sequence[Sequence[Span]]) -> None:
        """These lines are what is shown, each narrower than the terminal."""
        shown = ["".join(map(self._written, line)) for line in lines]
        if shown == self._lines:
            return
        self._write(self._back() + "".join(f"\x1b[2K{line}\n" for line in shown) + "\x1b[J")
        self._lines = shown

    def clear(self) -> None:
        """Nothing is shown."""
        if self._lines:
            self._write(self._back() + "\x1b[J")
            self._lines = []

    def leave(self) -> None:
        """What is shown stays, and what is written next comes under it."""
        self._lines = []

    def _back(self) -> str:
        return f"\x1b[{len(self._lines)}A\r" if self._lines else ""

    def _written(self, span: Span) -> str:
        code = _CODES[span.style] if self._coloured else ""
        return f"\x1b[{code}m{span.text}\x1b[0m" if code else span.text

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
