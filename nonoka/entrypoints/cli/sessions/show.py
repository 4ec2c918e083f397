"""``nonoka sessions show``."""

from __future__ import annotations

import asyncio

import click

from nonoka.app import open_store
from nonoka.entrypoints.cli.contract import session_contract
from nonoka.entrypoints.cli.json_output import write_json
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.page import session_page
from nonoka.entrypoints.cli.screen import screen
from nonoka.entrypoints.cli.session_ids import session_ids
from nonoka.entrypoints.cli.standstill import Workers, live_tasks
from nonoka.entrypoints.cli.stores import must_exist
from nonoka.records.commit import SessionDetail
from nonoka.settings import Settings


@click.command("show", short_help="Show all of one session.")
@session_ids()
@click.option("--json", "as_json", is_flag=True, help="The contract that programs rely on (docs/cli.md).")
@with_settings()
def command(*, settings: Settings, wanted: str, as_json: bool) -> int:
    """Show a session: what was said, what it waits for and what would move it, what happened last, and what to do
    next.

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
        # Who works is asked only where somebody must: it takes more than the store.
        workers = asyncio.run(_workers(settings)) if live_tasks(detail) else Workers()
        screen().write(session_page(detail, workers, now))
    return 0


async def _read(settings: Settings, wanted: str) -> tuple[SessionDetail, int]:
    async with open_store(settings) as (store, clock):
        index = await store.find_session(wanted)
        return await store.detail(index.session_id), clock.now_ms()


async def _workers(settings: Settings) -> Workers:
    from nonoka.app import open_ports  # it loads the engine, which most pages do without

    async with open_ports(settings) as ports:
        rows = await ports.store.workers()
        claims = await ports.store.running_claims()
        return Workers({worker: ports.processes.liveness(worker) for worker in rows}, claims)
