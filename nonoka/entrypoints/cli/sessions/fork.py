"""``nonoka sessions fork``: a new session that begins where another one was."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from nonoka.app import open_ports
from nonoka.engine.fork import fork
from nonoka.entrypoints.cli.failures import say
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.screen import Span, screen
from nonoka.entrypoints.cli.session_ids import session_ids
from nonoka.entrypoints.cli.statuses import next_steps
from nonoka.entrypoints.cli.stores import must_exist
from nonoka.errors import UsageError
from nonoka.records.session import SessionIndex, SessionStatus
from nonoka.settings import Settings


@click.command("fork", short_help="Begin a new session where this one was.")
@session_ids()
@click.option(
    "--at",
    "turn",
    metavar="TURN",
    type=click.IntRange(min=0),
    required=True,
    help="The end of this turn; 0 is the prompt.",
)
@click.option(
    "--worktree", is_flag=True, help="Work in a git working tree of the repository, on a branch of its own."
)
@click.option(
    "--to", "directory", metavar="DIR", type=click.Path(path_type=Path), help="The new workspace: new, or empty."
)
@with_settings()
def command(*, settings: Settings, wanted: str, turn: int, worktree: bool, directory: Path | None) -> int:
    """Begin a new session with the conversation, the usage and the workspace of this one as of the end of a turn.

    The old session and its workspace stay as they are. The id is printed alone on stdout; the new session is
    paused: give it a prompt, or resume it.

    \b
      id=$(nonoka sessions fork 3f2a --at 4 --worktree)
      nonoka run --session "$id" "Try it with a queue instead."

    Exit status: 0, 1 if its workspace can't be made, 2 if ID names no session or there is no such turn.
    """
    if worktree and directory is not None:
        raise UsageError("--worktree chooses the directory itself: leave --to out")
    must_exist(settings, wanted)
    place = None if directory is None else directory.expanduser().resolve()
    made = asyncio.run(_fork(settings, wanted, turn, worktree=worktree, place=place))
    screen().write([Span(f"{made.session_id}\n")])
    steps = next_steps(made.session_id, SessionStatus.PAUSED)
    say(f"nonoka: its workspace is {made.working_dir}; go on with: {steps}")
    return 0


async def _fork(settings: Settings, wanted: str, turn: int, *, worktree: bool, place: Path | None) -> SessionIndex:
    async with open_ports(settings) as ports:
        session_id = (await ports.store.find_session(wanted)).session_id
        return await fork(ports, session_id, turn, isolation="worktree" if worktree else "none", directory=place)
