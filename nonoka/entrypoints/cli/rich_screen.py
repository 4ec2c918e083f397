"""A terminal with colours. ``screen.py`` loads this; importing it loads rich."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nonoka.entrypoints.cli.screen import Span, Style

_LOOKS: dict[Style, str] = {
    "": "",
    "good": "green",
    "bad": "bold red",
    "warn": "yellow",
    "dim": "dim",
    "strong": "bold",
}


class RichScreen:
    """Rich on stdout."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False, emoji=False)

    def write(self, spans: Iterable[Span]) -> None:
        """The spans are shown in their colours; long lines wrap as the terminal does it."""
        text = Text.assemble(*((span.text, _LOOKS[span.style]) for span in spans))
        self._console.print(text, end="", soft_wrap=True)

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Each row takes one line: what doesn't fit is cut at its end, the first column never."""
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for place, header in enumerate(headers):
            table.add_column(header, no_wrap=True, overflow="ellipsis", min_width=8 if place == 0 else None)
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        self._console.print(table)
