"""Reads what a person wants to say: from the command line, from stdin, or from a file with a prompt a line."""

from __future__ import annotations

import sys
from pathlib import Path

from nonoka.agents.plain_value import clean_text
from nonoka.entrypoints.cli.failures import say
from nonoka.errors import UsageError


def prompt_text(given: str) -> str:
    """The text given, or all of stdin for ``-``; text that can be stored. Raises UsageError if it is empty."""
    text = _stdin() if given == "-" else given
    if not text.strip():
        raise UsageError("the prompt is empty; say what is to be done")
    return clean_text(text)


def prompts_in(file: str) -> list[str]:
    """The lines of a file, of stdin for ``-``, that aren't blank. Raises UsageError if there are none."""
    prompts = [clean_text(line).strip() for line in _text_of(file).split("\n")]
    prompts = [prompt for prompt in prompts if prompt]
    if not prompts:
        raise UsageError(f"{'stdin' if file == '-' else repr(file)} holds no prompt; give it one a line")
    return prompts


def _text_of(file: str) -> str:
    if file == "-":
        return _stdin()
    try:
        return Path(file).expanduser().read_bytes().decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"the prompts in {file!r} can't be read: {why}") from None


def _stdin() -> str:
    if sys.stdin.isatty():
        say("nonoka: type the prompt; Ctrl-D on an empty line ends it")
    return sys.stdin.buffer.read().decode("utf-8", "replace")
