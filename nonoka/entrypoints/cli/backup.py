"""``nonoka backup``: a copy of the store while workers run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from nonoka.app import back_up_store, store_exists
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.screen import Span, screen
from nonoka.errors import UsageError
from nonoka.settings import Settings


@click.command("backup", short_help="Copy the store to FILE, while workers run.")
@click.argument("target", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@with_settings()
def command(*, settings: Settings, target: Path, force: bool) -> int:
    """Copy the store to FILE, as it is at one moment; nobody who works on it has to stop.

    FILE is there only once the copy is whole, and only its owner can read it. Sessions, tasks and timelines are in
    it; the artifacts and snapshots that lie beside the store aren't. How to put a copy in the store's place is
    in docs/operations.md.

    \b
      nonoka backup /backups/sessions-$(date +%F).db

    Exit status: 0 copied, 1 it could not be read or written, 2 there is no store, or FILE is there already.
    """
    if not store_exists(settings):
        raise UsageError(f"there is no store {settings.db} to copy; name another with --db (or NONOKA_DB)")
    size = asyncio.run(back_up_store(settings, target, overwrite=force))
    screen().write([Span(f"copied {settings.db} to {target} ({size / 1_000_000:.1f} MB)\n")])
    return 0
