"""``nonoka sessions watch``."""

from __future__ import annotations

import asyncio

import click

from nonoka.entrypoints.cli.json_output import event_json, write_json
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.reader import Reader, Show
from nonoka.entrypoints.cli.screen import Screen, screen
from nonoka.entrypoints.cli.statuses import exit_status, say_if_nobody_works
from nonoka.entrypoints.cli.stores import must_exist, opened_store
from nonoka.entrypoints.cli.summary import closing_line, say_why_not_done
from nonoka.entrypoints.cli.timeline import Timeline
from nonoka.records.session import SessionState
from nonoka.settings import Settings


@click.command("watch", short_help="Follow a session from its start to its end.")
@click.argument("wanted", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="One event a line.")
@click.option("--verbose", "-v", is_flag=True, help="Also where turns begin and end.")
@with_settings()
def command(*, settings: Settings, wanted: str, as_json: bool, verbose: bool) -> int:
    """Follow a session's timeline from its start until nothing more happens by itself.

    Whichever process works on it, and also after it has ended. Ctrl-C stops watching and nothing else.

    Exit status: as of nonoka run: 0 completed, 1 failed or cancelled, 3 paused, 130 interrupted.
    """
    must_exist(settings, wanted)
    timeline, out = Timeline(verbose=verbose), None if as_json else screen()
    state = asyncio.run(_follow(settings, wanted, _show(timeline, out)))
    if out is not None:
        out.write([*timeline.ended(), *closing_line(state)])
    say_why_not_done(state)
    return exit_status(state.status)


def _show(timeline: Timeline, out: Screen | None) -> Show:
    if out is None:
        return lambda event: write_json(event_json(event))
    return lambda event: out.write(timeline.told(event))


async def _follow(settings: Settings, wanted: str, show: Show) -> SessionState:
    async with opened_store(settings) as (store, clock):
        index = await store.find_session(wanted)
        if not (await store.standing(index.session_id)).at_rest:
            await say_if_nobody_works(store)
        await Reader(store, clock, index.session_id, show).read()
        return await store.load_session(index.session_id)
