"""One measured figure. Each benchmark gives some; ``all.py`` puts them into RESULTS.md."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """``wanted`` is what the figure has to be, where it has to be anything."""

    what: str
    value: str
    wanted: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.value}" + (f" (wanted: {self.wanted})" if self.wanted else "")
