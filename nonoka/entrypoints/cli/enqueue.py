"""``nonoka enqueue``: a new session for the workers."""

from __future__ import annotations

import asyncio
import sys

import click

from nonoka.app import open_ports, request_for
from nonoka.engine import accept
from nonoka.engine.ports import Ports
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.prompts import prompt_text
from nonoka.entrypoints.cli.reader import Reader
from nonoka.entrypoints.cli.statuses import exit_status, say_if_nobody_works
from nonoka.entrypoints.cli.summary import say_why_not_done, write_answer
from nonoka.settings import Settings


@click.command("enqueue", short_help="Store a session for the workers; print its id.")
@click.argument("prompt", metavar="PROMPT|-")
@click.option("--wait", is_flag=True, help="Wait until it ends or pauses, and print the final answer.")
@with_settings(new_sessions=True)
def command(*, settings: Settings, prompt: str, wait: bool) -> int:
    """Store a session with PROMPT (- reads stdin) for the workers, and print its id alone on stdout.

    Once the id is printed nothing is lost. Workers (nonoka worker) need neither model nor limits: they are
    stored with the session. An agent that can't be imported from here is refused.

    \b
      id=$(nonoka enqueue --model openai:gpt-4o-mini "Summarise CHANGELOG.md")
      nonoka sessions watch "$id"

    Exit status: 0 stored; with --wait as of nonoka run: 0 answered, 1 failed or cancelled, 3 paused.
    """
    return asyncio.run(_enqueue(settings, prompt_text(prompt), wait=wait))


async def _enqueue(settings: Settings, prompt: str, *, wait: bool) -> int:
    async with open_ports(settings) as ports:
        request = request_for(ports, settings, prompt)
        session_id, _ = await accept.create_session(ports.store, ports.clock, request)
        sys.stdout.write(f"{session_id}\n")
        sys.stdout.flush()
        return await _answered(ports, session_id) if wait else 0


async def _answered(ports: Ports, session_id: str) -> int:
    await say_if_nobody_works(ports.store)
    await Reader(ports.store, ports.clock, session_id, lambda event: None).read()
    state = await ports.store.load_session(session_id)
    write_answer(state)
    say_why_not_done(state)
    return exit_status(state.status)
