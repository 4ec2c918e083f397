"""``nonoka sessions pause`` and ``cancel``: a signal, and its effect at once where no worker has the session."""

from __future__ import annotations

import asyncio

import click

from nonoka.decisions.transitions import TERMINAL
from nonoka.engine import accept
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.screen import Span, screen
from nonoka.entrypoints.cli.statuses import next_steps
from nonoka.entrypoints.cli.stores import must_exist
from nonoka.errors import UsageError
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.runner import Runner
from nonoka.settings import Settings


@click.command("pause", short_help="Stop a session until it is resumed.")
@click.argument("wanted", metavar="ID")
@with_settings()
def pause(*, settings: Settings, wanted: str) -> int:
    """Stop a session after the call in flight, until nonoka sessions resume.

    Exit status: 0, or 2 if it has ended or ID names no session.
    """
    must_exist(settings, wanted)
    return asyncio.run(_stop(settings, wanted, SignalKind.PAUSE))


@click.command("cancel", short_help="End a session's run.")
@click.argument("wanted", metavar="ID")
@with_settings()
def cancel(*, settings: Settings, wanted: str) -> int:
    """End a session's run: what it had started is ended, and its calls never run again.

    The conversation stays, and the session can take another prompt.

    Exit status: 0, or 2 if it has ended already or ID names no session.
    """
    must_exist(settings, wanted)
    return asyncio.run(_stop(settings, wanted, SignalKind.CANCEL))


async def _stop(settings: Settings, wanted: str, kind: SignalKind) -> int:
    aim = SessionStatus.PAUSED if kind is SignalKind.PAUSE else SessionStatus.CANCELLED
    async with Runner(settings=settings) as runner:
        store = runner.ports.store
        session_id = (await store.find_session(wanted)).session_id
        standing = await store.standing(session_id)
        if standing.at_rest and standing.status in TERMINAL:
            raise UsageError(
                f"session {session_id} is {standing.status.value} already: there is nothing to {kind.value}; "
                f"its next run: {next_steps(session_id, standing.status)}"
            )
        if standing.status is not aim:
            await accept.send_signal(store, session_id, kind)
            standing = await runner.heed(session_id)
    screen().write([Span(_told(session_id, kind, standing.status, aim) + "\n")])
    return 0


def _told(session_id: str, kind: SignalKind, status: SessionStatus, aim: SessionStatus) -> str:
    if status is aim:
        return f"{aim.value} {session_id}; to go on: {next_steps(session_id, status)}"
    if status in TERMINAL:
        return f"{session_id} was faster: it is {status.value}; its next run: {next_steps(session_id, status)}"
    when = "within 2 s" if kind is SignalKind.CANCEL else "after the call in flight"
    return f"told {session_id} to {kind.value}: its worker stops it {when}; see: nonoka sessions show {session_id}"
