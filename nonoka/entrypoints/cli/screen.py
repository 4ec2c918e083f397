"""Where a command writes for people: rich on a terminal, plain text anywhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TextIO

from nonoka.entrypoints.cli.figures import width

Style = Literal["", "good", "bad", "warn", "dim", "strong"]


@dataclass(frozen=True, slots=True)
class Span:
    """Some text and what it is to look like; a line ends where its text has a newline."""

    text: str
    style: Style = ""


class Screen(Protocol):
    """What commands write to."""

    def write(self, spans: Iterable[Span]) -> None:
        """The spans are shown, at once."""

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """The rows are shown under their headers."""


def screen() -> Screen:
    """The screen that stdout is. Rich is loaded only for a terminal that may show colours."""
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        from nonoka.entrypoints.cli.rich_screen import RichScreen

        return RichScreen()
    return PlainScreen(sys.stdout)


class PlainScreen:
    """Text without colour, for pipes and files."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, spans: Iterable[Span]) -> None:
        """The text alone is written, and flushed: a reader follows as it happens."""
        self._stream.write("".join(span.text for span in spans))
        self._stream.flush()

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Columns are padded with spaces; nothing is cut."""
        lines = [headers, *rows]
        widths = [max(width(line[place]) for line in lines) for place in range(len(headers))]
        for line in lines:
            cells = [cell + " " * (wide - width(cell)) for cell, wide in zip(line, widths, strict=True)]
            self.write([Span("  ".join(cells).rstrip() + "\n")])
