"""``nonoka sessions list``."""

from __future__ import annotations

import asyncio

import click

from nonoka.entrypoints.cli.figures import age, shortened
from nonoka.entrypoints.cli.json_output import write_json
from nonoka.entrypoints.cli.list_contract import line_contract
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.screen import Span, screen
from nonoka.entrypoints.cli.stores import opened_store, short_ids
from nonoka.records.commit import SessionLine
from nonoka.settings import Settings

HEADERS = ("id", "status", "title", "model", "age", "directory")


@click.command("list", short_help="List sessions, newest first.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many."
)
@click.option("--json", "as_json", is_flag=True, help="An array, newest first (docs/cli.md has its keys).")
@with_settings()
def command(*, settings: Settings, limit: int, as_json: bool) -> int:
    """List the sessions of this project's store, newest first.

    \b
      nonoka sessions list --limit 5
      nonoka sessions list --json | jq -r '.[] | select(.status == "failed").session_id'
    """
    lines, ids, now = asyncio.run(_read(settings, limit, with_ids=not as_json)) if settings.db.exists() else _NONE
    if as_json:
        write_json([line_contract(line) for line in lines], indent=2)
    elif not lines:
        screen().write([Span("no sessions yet\n", "dim")])
    else:
        rows = [row(line, short, now) for line, short in zip(lines, ids, strict=True)]
        screen().table(HEADERS, rows)
    return 0


_Found = tuple[list[SessionLine], list[str], int]
_NONE: _Found = ([], [], 0)


async def _read(settings: Settings, limit: int, *, with_ids: bool) -> _Found:
    async with opened_store(settings) as (store, clock):
        lines = await store.list_sessions(limit=limit)
        ids = await short_ids(store, [line.index.session_id for line in lines]) if with_ids else []
        return lines, ids, clock.now_ms()


def row(line: SessionLine, short_id: str, now: int) -> tuple[str, ...]:
    """A session in the columns of ``HEADERS``."""
    index = line.index
    model = index.model if len(index.model) <= 40 else index.model[:5] + "…" + index.model[-34:]
    cells = (short_id, line.status, index.title, model, age(now - index.created_at), index.working_dir)
    return tuple(shortened(cell, 200) for cell in cells)
