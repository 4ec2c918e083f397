"""``nonoka sessions watch``."""

from __future__ import annotations

import asyncio
import functools

import click

from nonoka.app import open_store
from nonoka.entrypoints.cli.display import Display
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.reader import Reader
from nonoka.entrypoints.cli.session_ids import session_ids
from nonoka.entrypoints.cli.statuses import exit_status, say_if_nobody_works
from nonoka.entrypoints.cli.stores import must_exist
from nonoka.entrypoints.cli.summary import say_why_not_done
from nonoka.records.session import SessionState
from nonoka.settings import Settings


@click.command("watch", short_help="Follow a session from its start to its end.")
@session_ids()
@click.option("--json", "as_json", is_flag=True, help="One event a line.")
@click.option("--verbose", "-v", is_flag=True, help="Also where turns begin and end.")
@with_settings()
def command(*, settings: Settings, wanted: str, as_json: bool, verbose: bool) -> int:
    """Follow a session's timeline from its start until nothing more happens by itself.

    Whichever process works on it, and also after it has ended. Ctrl-C stops watching and nothing else.

    Exit status: as of nonoka run: 0 completed, 1 failed or cancelled, 3 paused, 130 interrupted.
    """
    must_exist(settings, wanted)
    state = asyncio.run(_follow(settings, wanted, as_json=as_json, verbose=verbose))
    say_why_not_done(state)
    return exit_status(state.status)


async def _follow(settings: Settings, wanted: str, *, as_json: bool, verbose: bool) -> SessionState:
    async with open_store(settings) as (store, clock):
        index = await store.find_session(wanted)
        session_id = index.session_id
        display = Display(as_json=as_json, verbose=verbose)
        plan = (await store.detail(session_id)).plan if index.kind == "plan" and not as_json else None
        if plan is not None:
            from nonoka.entrypoints.cli.plan.live import plan_display

            display = plan_display(plan.plan, verbose=verbose)
        if not (await store.standing(session_id)).at_rest:
            await say_if_nobody_works(store)
        reader = Reader(store, clock, session_id, display.show)
        status = asyncio.create_task(display.keep_status(reader, store, clock, session_id))
        try:
            await reader.read()
        finally:
            status.cancel()
            await asyncio.gather(status, return_exceptions=True)
        state = await store.load_session(session_id)
        await reader.in_turn(functools.partial(display.sum_up, state))
        return state
