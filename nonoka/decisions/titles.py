"""What a session is called in a list."""

from __future__ import annotations

TITLE_CHARACTERS = 80


def title_of(prompt: str) -> str:
    """The prompt's first line with words in it, shortened, without control characters."""
    lines = ("".join(c if c.isprintable() else " " for c in line).strip() for line in prompt.splitlines())
    first = next((line for line in lines if line), "(empty)")
    return first if len(first) <= TITLE_CHARACTERS else first[: TITLE_CHARACTERS - 1].rstrip() + "…"
