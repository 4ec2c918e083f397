"""``nonoka sessions diff``: what changed in a session's workspace since it first changed it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from nonoka.app import open_ports
from nonoka.decisions.rollback import target_of
from nonoka.entrypoints.cli.failures import say
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.session_ids import session_ids
from nonoka.entrypoints.cli.stores import must_exist
from nonoka.errors import UsageError
from nonoka.ports.store import ReadStore
from nonoka.records.session import SessionIndex
from nonoka.settings import Settings


@click.command("diff", short_help="Show what changed in a session's workspace.")
@session_ids()
@click.option(
    "--from", "turn", metavar="TURN", type=click.IntRange(min=0), default=0, help="Since the end of this turn."
)
@click.option("--names", is_flag=True, help="Only which files, each with added, changed or removed.")
@with_settings()
def command(*, settings: Settings, wanted: str, turn: int, names: bool) -> int:
    """Show, as a unified diff, what changed in a session's workspace since its first call that could change it.

    Whoever changed it: other sessions and people work on the same files. Ignored files are not compared.

    \b
      nonoka sessions diff 3f2a
      nonoka sessions diff 3f2a --from 4 --names

    Exit status: 0, or 2 if ID names no session or there is no such turn.
    """
    must_exist(settings, wanted)
    sys.stdout.buffer.write(asyncio.run(_diff(settings, wanted, turn, names=names)))
    sys.stdout.buffer.flush()
    return 0


async def _diff(settings: Settings, wanted: str, turn: int, *, names: bool) -> bytes:
    async with open_ports(settings) as ports:
        index = await ports.store.find_session(wanted)
        since = await _since(ports.store, index, turn)
        if since is None:
            say(f"nonoka: the session has changed nothing in {index.working_dir} since")
            return b""
        workspace = Path(index.working_dir)
        if not names:
            return await ports.snapshots.diff(workspace, since)
        changes = await ports.snapshots.changes(workspace, since)
        return "".join(f"{change.kind:<8} {change.path}\n" for change in changes).encode()


async def _since(store: ReadStore, index: SessionIndex, turn: int) -> str | None:
    taken = await store.snapshots_of(index.session_id)
    if index.kind == "plan":
        return next((one.snapshot_id for one in taken if one.why == "before_call"), None)
    target = target_of(turn, await store.conversation(index.session_id), taken)
    if target is None:
        raise UsageError(f"the conversation of {index.session_id} has no turn {turn}")
    return target.snapshot_id
