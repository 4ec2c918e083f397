"""``nonoka init``: files to start a project from."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

import click

from nonoka.entrypoints.cli.screen import Span, screen
from nonoka.errors import UsageError

#: What is written, and what each is.
FILES = {
    "nonoka.toml": "the settings, each with a comment",
    "agents.py": "an agent with a tool of its own: agents.py:clerk",
}
NEXT = """\
try:  nonoka run --agent agents.py:clerk "Book 25.50 euros for train tickets"
      nonoka run "What is in this directory?"
      nonoka doctor                      what is missing, such as a key for the model
"""


@click.command("init", short_help="Write a nonoka.toml and an example agent here.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
def command(*, force: bool) -> int:
    """Write a commented nonoka.toml and agents.py, an example agent, into the current directory.

    Files that are there are never replaced without --force; then nothing is written at all. It makes no
    store: the first session does.

    \b
      mkdir books && cd books && nonoka init
      nonoka run --agent agents.py:clerk "Book 25.50 euros for train tickets"

    Exit status: 0 written, 2 a file is there already.
    """
    there = [name for name in FILES if os.path.lexists(name)]
    if there and not force:
        raise UsageError(
            f"{' and '.join(there)} {'exists' if len(there) == 1 else 'exist'} here already; --force replaces"
        )
    for name in FILES:
        _write(Path(name), files("nonoka.entrypoints.cli.starter").joinpath(name).read_bytes(), force=force)
    screen().write([*(Span(f"wrote {name}: {what}\n") for name, what in FILES.items()), Span(NEXT)])
    return 0


def _write(path: Path, content: bytes, *, force: bool) -> None:
    try:
        if force:
            # A link is replaced, not written through.
            path.unlink(missing_ok=True)
        with path.open("xb") as file:
            file.write(content)
    except OSError as error:
        raise UsageError(f"{path.name} can't be written here: {error.strerror}") from error
