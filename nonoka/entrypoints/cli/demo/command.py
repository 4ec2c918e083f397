"""``nonoka demo``: the tour without a key."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
from typing import Any

import click

from nonoka.entrypoints.cli.demo import closing
from nonoka.entrypoints.cli.demo.checks import checks
from nonoka.entrypoints.cli.demo.outcome import Outcome
from nonoka.entrypoints.cli.demo.play import play
from nonoka.entrypoints.cli.demo.scratch import Scratch
from nonoka.entrypoints.cli.demo.stage import Stage, stage
from nonoka.entrypoints.cli.failures import FAILED, STDOUT_CLOSED, Invocation, say, tell_late_failures_briefly
from nonoka.entrypoints.cli.interrupts import EXIT, Interrupts
from nonoka.entrypoints.cli.logs import set_up_logging
from nonoka.errors import NonokaError


@click.command("demo", short_help="See a worker killed and its work recovered; needs no key.")
@click.option("--keep", is_flag=True, help="Keep the scratch directory: its sessions, store and log.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.pass_context
def command(context: click.Context, *, keep: bool, debug: bool) -> int:
    """Three sessions, two worker processes, and a SIGKILL in the middle of a command: see what comes of it.

    The command appends lines, moves a file and deletes one: it would not be safe to repeat on what half of it
    has left. Its workspace is rolled back to the snapshot before it, and it runs again.

    It plays in a directory of its own and takes a few seconds. The model is scripted, so it needs neither
    key nor network; the workers, the store, the commands and the kill are real. In the end it checks by itself
    that every effect is there once, against what the commands wrote down outside of the store.

    Exit status: 0 every check holds, 1 one does not, or it could not be played, 130 interrupted.
    """
    invocation = context.find_object(Invocation) or Invocation()
    invocation.debug |= debug
    set_up_logging("warning", debug=invocation.debug)
    tell_late_failures_briefly(invocation)
    try:
        return asyncio.run(_demo(stage(), keep=keep))
    except BrokenPipeError:
        return STDOUT_CLOSED


async def _demo(shown: Stage, *, keep: bool) -> int:
    with Interrupts() as interrupts:
        scratch = Scratch()
        try:
            _open(shown, scratch)
            outcome = await _unless_stopped(asyncio.create_task(play(scratch, shown)), interrupts)
        except NonokaError as error:
            keep = True
            raise NonokaError(_explained(scratch, error)) from error
        else:
            if outcome is None:
                return EXIT[interrupts.asked.result()]
            ok = _close(shown, scratch, outcome, keep=keep)
            keep = keep or not ok
            return 0 if ok else FAILED
        finally:
            if not keep:
                scratch.remove()


async def _unless_stopped(playing: asyncio.Task[Outcome], interrupts: Interrupts) -> Outcome | None:
    """What came of it; None if this process was asked to stop. Either way all that was started has ended."""
    either: list[asyncio.Future[Any]] = [playing, interrupts.asked]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if not playing.done():
        say("nonoka: interrupted; ending what was started")
        playing.cancel()
        await asyncio.wait([playing])
    return None if playing.cancelled() else playing.result()


def _open(shown: Stage, scratch: Scratch) -> None:
    shown.line(("nonoka demo: three sessions, two workers, and a SIGKILL in the middle of a tool call.", "strong"))
    shown.line(("The model is scripted (no key, no network); workers, store, commands and kill are real.", ""))
    shown.line(
        ("Each command runs under ../witness, which writes down, outside of the store, what really ran.", "")
    )
    shown.line((f"It plays in {scratch.directory}", "dim"))
    shown.line()


def _close(shown: Stage, scratch: Scratch, outcome: Outcome, *, keep: bool) -> bool:
    found = checks(outcome)
    ok = all(check.ok for check in found)
    for heading, lines in (
        ("What the store says", closing.table(outcome)),
        ("The timelines in short", closing.timelines(outcome)),
        ("What the demo has checked, against what the witness wrote down", closing.verdict(found)),
    ):
        shown.line()
        shown.line((heading, "strong"))
        for line in lines:
            shown.line(*line)
    shown.line()
    look_at = outcome.acts[0].detail.index.session_id if keep or not ok else None
    for line in closing.how_to_go_on(scratch.directory, _program(), look_at):
        shown.line(*line)
    return ok


def _program() -> str:
    """How this program is called from anywhere."""
    this = os.path.abspath(sys.argv[0])
    found = shutil.which("nonoka")
    return (
        "nonoka" if found is not None and os.path.realpath(found) == os.path.realpath(this) else shlex.quote(this)
    )


def _explained(scratch: Scratch, error: NonokaError) -> str:
    said = scratch.last_of_log()
    return f"the demo could not be played: {error}; the workers' log, {scratch.log}, " + (
        f"ends with: {said}" if said else "is empty"
    )
