"""Where the demo is shown: lines of pieces, in colour on a terminal that may show it."""

from __future__ import annotations

import sys
from typing import Literal, Protocol

from nonoka.entrypoints.cli.screen import PlainScreen, screen

#: the last three are the sessions: a colour each
Look = Literal["", "good", "bad", "warn", "dim", "strong", "kill", "build", "orders", "names"]
Piece = tuple[str, Look]

_COLOURS: dict[Look, str] = {
    "": "",
    "good": "green",
    "bad": "bold red",
    "warn": "yellow",
    "dim": "dim",
    "strong": "bold",
    "kill": "bold white on red",
    "build": "bold magenta",
    "orders": "bold cyan",
    "names": "bold blue",
}


class Stage(Protocol):
    """Shows lines."""

    def line(self, *pieces: Piece) -> None:
        """The line is shown, at once."""


def stage() -> Stage:
    """The stage that stdout is. What its encoding lacks is replaced, not raised."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    return _Plain() if isinstance(screen(), PlainScreen) else _Coloured()


class _Plain:
    def line(self, *pieces: Piece) -> None:
        sys.stdout.write("".join(text for text, _ in pieces).rstrip() + "\n")
        sys.stdout.flush()


class _Coloured:
    def __init__(self) -> None:
        from rich.console import Console
        from rich.text import Text

        self._console = Console(highlight=False, markup=False, emoji=False)
        self._text = Text

    def line(self, *pieces: Piece) -> None:
        text = self._text.assemble(*((text, _COLOURS[look]) for text, look in pieces))
        self._console.print(text, soft_wrap=True)
