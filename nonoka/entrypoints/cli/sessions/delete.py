"""``nonoka sessions delete``."""

from __future__ import annotations

import asyncio
import sys

import click

from nonoka.app import as_worker, open_ports
from nonoka.engine.ports import Ports
from nonoka.entrypoints.cli.figures import counted, printable
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.screen import Span, screen
from nonoka.entrypoints.cli.session_ids import session_ids
from nonoka.entrypoints.cli.stores import must_exist
from nonoka.errors import UsageError
from nonoka.records.session import SessionIndex
from nonoka.records.task import TaskStatus
from nonoka.settings import Settings


@click.command("delete", short_help="Remove sessions for good.")
@session_ids("wanted", nargs=-1, required=True)
@click.option("--yes", "-y", is_flag=True, help="Don't ask; needed where no terminal is there to ask on.")
@with_settings()
def command(*, settings: Settings, wanted: tuple[str, ...], yes: bool) -> int:
    """Remove sessions for good: conversation, calls, timeline, and what was kept of their results.

    The workspace stays as it is. One that a living worker works on is refused: cancel it first. All the ids are
    checked before anything is removed. A key it was enqueued with is free again.

    \b
      nonoka sessions delete 3f2a 91bc
      nonoka sessions list --json | jq -r '.[] | select(.status == "failed").session_id' |
        xargs nonoka sessions delete --yes

    Exit status: 0 removed, 1 not confirmed, 2 an ID names no session, or one that is worked on.
    """
    must_exist(settings, wanted[0])
    return asyncio.run(_delete(settings, wanted, yes=yes))


async def _delete(settings: Settings, wanted: tuple[str, ...], *, yes: bool) -> int:
    async with open_ports(settings) as ports:
        found = {index.session_id: index for index in [await ports.store.find_session(one) for one in wanted]}
        await _refuse_worked_on(ports, list(found))
        if not (yes or _confirmed(list(found.values()))):
            return 1
        for session_id in found:
            await ports.store.delete_session(session_id)
            await asyncio.to_thread(ports.artifacts.remove, session_id)
            screen().write([Span(f"deleted {session_id}\n")])
    return 0


async def _refuse_worked_on(ports: Ports, session_ids: list[str]) -> None:
    if not await _running(ports, session_ids):
        return
    # What a dead worker left running is settled and released first, as anybody would.
    async with as_worker(ports, "sweep") as parts:
        await parts.sweeper.sweep()
    running = await _running(ports, session_ids)
    if running:
        raise UsageError(
            f"session {running[0]} is being worked on; first: nonoka sessions cancel {running[0]} "
            "(nothing was deleted)"
        )


async def _running(ports: Ports, session_ids: list[str]) -> list[str]:
    return [
        session_id
        for session_id in session_ids
        for task in (await ports.store.standing(session_id)).live_tasks
        if task.status is TaskStatus.RUNNING
    ]


def _confirmed(found: list[SessionIndex]) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask on whether to delete; pass --yes")
    for index in found:
        click.echo(f"{index.session_id}  {printable(index.title)}", err=True)
    return click.confirm(f"Delete {counted(len(found), 'session')} for good?", err=True)
