"""``nonoka sessions answer``: a person says what became of a call whose outcome nobody knows."""

from __future__ import annotations

import asyncio
from typing import Literal

import click

from nonoka.app import open_store
from nonoka.engine import accept
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.screen import Span, screen
from nonoka.entrypoints.cli.session_ids import session_ids
from nonoka.entrypoints.cli.stores import must_exist
from nonoka.errors import UsageError
from nonoka.records.commit import SessionDetail
from nonoka.records.tool import CallState
from nonoka.settings import Settings

What = Literal["again", "skip", "result"]


@click.command("answer", short_help="Say what became of a call in doubt.")
@session_ids()
@click.option(
    "--call", "call_id", metavar="CALL", help="Which call; may be left out where only one is asked about."
)
@click.option("--again", is_flag=True, help="It did not happen, or may happen twice: run it again.")
@click.option("--skip", is_flag=True, help="Go on without it: the model is told that nobody knows.")
@click.option("--result", metavar="TEXT", help="It happened, and this is what it brought.")
@with_settings()
def command(
    *, settings: Settings, wanted: str, call_id: str | None, again: bool, skip: bool, result: str | None
) -> int:
    """Say what became of a call that was cut off, and whose tool wants a person to decide (on_uncertain="ask").

    The session is paused until then; once the last such call is decided it goes on.

    \b
      nonoka sessions answer 3f2a --again
      nonoka sessions answer 3f2a --call call_4_0 --result "invoice 17 was sent"

    Exit status: 0, or 2 if there is no such call, or ID names no session.
    """
    options: list[tuple[What, bool]] = [("again", again), ("skip", skip), ("result", result is not None)]
    given = [what for what, chosen in options if chosen]
    if len(given) != 1:
        raise UsageError("give it one of --again, --skip and --result TEXT")
    must_exist(settings, wanted)
    session_id, call, others = asyncio.run(_answer(settings, wanted, call_id, given[0], result or ""))
    told = f"noted for {call.name} ({call.call_id}) of {session_id}: {given[0]}; "
    if others:
        told += f"also asked: {', '.join(others)}\n"
    else:
        told += f"a worker goes on with it, or: nonoka sessions resume {session_id} --here\n"
    screen().write([Span(told)])
    return 0


async def _answer(
    settings: Settings, wanted: str, call_id: str | None, what: What, text: str
) -> tuple[str, CallState, list[str]]:
    async with open_store(settings) as (store, _):
        detail = await store.detail((await store.find_session(wanted)).session_id)
        call = _chosen(detail, call_id)
        await accept.answer_call(store, detail.index.session_id, call.call_id, what, text)
        others = [one.call_id for one in detail.calls if one.doubt == "ask" and one.call_id != call.call_id]
        return detail.index.session_id, call, others


def _chosen(detail: SessionDetail, call_id: str | None) -> CallState:
    asked = [call for call in detail.calls if call.doubt == "ask" and call.status == "not_begun"]
    if not asked:
        raise UsageError(f"session {detail.index.session_id} asks about no call")
    chosen = [call for call in asked if call_id in (None, call.call_id)]
    if len(chosen) != 1:
        which = ", ".join(f"{call.call_id} ({call.name})" for call in asked)
        raise UsageError(f"say which call with --call; it asks about: {which}")
    return chosen[0]
