"""``nonoka sessions send``."""

from __future__ import annotations

import asyncio

import click

from nonoka.app import open_store
from nonoka.engine import accept
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.prompts import prompt_text
from nonoka.entrypoints.cli.screen import Span, screen
from nonoka.entrypoints.cli.session_ids import session_ids
from nonoka.entrypoints.cli.stores import must_exist
from nonoka.errors import UsageError
from nonoka.records.session import SessionStatus
from nonoka.settings import Settings


@click.command("send", short_help="Give a session its next message.")
@session_ids()
@click.argument("text", metavar="TEXT|-")
@with_settings()
def command(*, settings: Settings, wanted: str, text: str) -> int:
    """Give a session its next message (- reads stdin); a worker reads it.

    One that runs hears it after the calls in flight; one that has ended starts another run; one that is
    paused reads it once it is resumed.

    \b
      nonoka sessions send 3f2a "Leave the tests alone."
    """
    must_exist(settings, wanted)
    session_id, status = asyncio.run(_send(settings, wanted, prompt_text(text)))
    if status is SessionStatus.PAUSED:
        told = f"stored: {session_id} is paused and reads it after: nonoka sessions resume {session_id}"
    else:
        told = f"sent to {session_id}: a worker takes it up; see: nonoka sessions watch {session_id}"
    screen().write([Span(told + "\n")])
    return 0


async def _send(settings: Settings, wanted: str, text: str) -> tuple[str, SessionStatus]:
    async with open_store(settings) as (store, _):
        index = await store.find_session(wanted)
        session_id = index.session_id
        if index.kind == "plan":
            raise UsageError(f"session {session_id} runs a plan: it takes no message")
        await accept.send_message(store, session_id, text)
        return session_id, (await store.standing(session_id)).status
