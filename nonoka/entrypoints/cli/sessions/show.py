"""``nonoka sessions show``."""

from __future__ import annotations

import asyncio

import click

from nonoka.entrypoints.cli.contract import session_contract
from nonoka.entrypoints.cli.json_output import write_json
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.page import session_page
from nonoka.entrypoints.cli.screen import screen
from nonoka.entrypoints.cli.stores import must_exist, opened_store
from nonoka.records.commit import SessionDetail
from nonoka.settings import Settings


@click.command("show", short_help="Show all of one session.")
@click.argument("wanted", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="The contract that programs rely on (docs/cli.md).")
@with_settings()
def command(*, settings: Settings, wanted: str, as_json: bool) -> int:
    """Show a session: what was said, what it waits for, what happened last, and what to do next.

    \b
      nonoka sessions show 3f2a
      nonoka sessions show 3f2a --json | jq -r .result

    Exit status: 0, or 2 if ID names no session or several.
    """
    must_exist(settings, wanted)
    detail, now = asyncio.run(_read(settings, wanted))
    if as_json:
        write_json(session_contract(detail), indent=2)
    else:
        screen().write(session_page(detail, now))
    return 0


async def _read(settings: Settings, wanted: str) -> tuple[SessionDetail, int]:
    async with opened_store(settings) as (store, clock):
        index = await store.find_session(wanted)
        return await store.detail(index.session_id), clock.now_ms()
