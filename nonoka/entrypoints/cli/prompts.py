"""Reads what a person wants to say, from the command line or from stdin."""

from __future__ import annotations

import sys

from nonoka.agents.plain_value import clean_text
from nonoka.errors import UsageError


def prompt_text(given: str) -> str:
    """The text given, or all of stdin for ``-``; text that can be stored. Raises UsageError if it is empty."""
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if given == "-" else given
    if not text.strip():
        raise UsageError("the prompt is empty; say what is to be done")
    return clean_text(text)
