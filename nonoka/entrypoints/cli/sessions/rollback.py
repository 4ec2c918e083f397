"""``nonoka sessions rollback``: conversation and files go back together."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from nonoka.app import as_worker
from nonoka.decisions.rollback import OF_A_PLAN
from nonoka.engine import accept
from nonoka.engine.ports import Ports
from nonoka.engine.rollback import find_target
from nonoka.entrypoints.cli.failures import FAILED, say
from nonoka.entrypoints.cli.figures import printable
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.screen import Span, screen
from nonoka.entrypoints.cli.session_ids import session_ids
from nonoka.entrypoints.cli.statuses import next_steps
from nonoka.entrypoints.cli.stores import must_exist
from nonoka.errors import UsageError
from nonoka.records.event import Event, EventType
from nonoka.records.runtime import RollbackRequest
from nonoka.records.session import SessionStatus
from nonoka.records.workspace import Rollback
from nonoka.runner import Runner
from nonoka.settings import Settings

_TOLD = (EventType.SESSION_ROLLED_BACK, EventType.ROLLBACK_REFUSED)


@click.command("rollback", short_help="Bring conversation and files back to an earlier turn.")
@session_ids()
@click.option(
    "--to", "turn", metavar="TURN", type=click.IntRange(min=0), help="To the end of this turn; 0 is the prompt."
)
@click.option("--undo", is_flag=True, help="Undo the last rollback.")
@click.option("--dry-run", is_flag=True, help="Only list the files that would change.")
@click.option("--force", is_flag=True, help="Though another session has changed the workspace since.")
@with_settings()
def command(*, settings: Settings, wanted: str, turn: int | None, undo: bool, dry_run: bool, force: bool) -> int:
    """Bring a session's conversation and its workspace back to the end of an earlier turn, together.

    Ignored files stay as they are. What was there before is kept, and --undo brings it back. The session is
    paused then: give it another prompt, or resume it.

    \b
      nonoka sessions rollback 3f2a --to 4 --dry-run
      nonoka sessions rollback 3f2a --to 4
      nonoka sessions rollback 3f2a --undo

    Exit status: 0 done, 1 refused (nothing was changed), 2 if it is at work, ID names no session, or there is
    no such turn.
    """
    if (turn is None) == (not undo):
        raise UsageError("give it one of --to TURN and --undo")
    must_exist(settings, wanted)
    request = RollbackRequest(to=turn, force=force)
    return asyncio.run(_roll_back(settings, wanted, request, dry_run=dry_run))


async def _roll_back(settings: Settings, wanted: str, request: RollbackRequest, *, dry_run: bool) -> int:
    async with Runner(settings=settings, own_process=True) as runner:
        ports = runner.ports
        index = await ports.store.find_session(wanted)
        session_id = index.session_id
        if index.kind == "plan":
            raise UsageError(f"session {session_id} can't be rolled back: {OF_A_PLAN}")
        await _refuse_busy(ports, session_id)
        if dry_run:
            return await _listed(ports, session_id, request)
        target = await find_target(ports.store, session_id, request)
        if isinstance(target, str):
            raise UsageError(target)
        seen = (await ports.store.detail(session_id)).events[-1].seq
        await accept.ask_rollback(ports.store, session_id, to=request.to, force=request.force)
        await runner.work_on(session_id)
        told = [event for event in await ports.store.events_after(session_id, seq=seen) if event.type in _TOLD]
        return _tell(session_id, told)


async def _refuse_busy(ports: Ports, session_id: str) -> None:
    if (await ports.store.standing(session_id)).at_rest:
        return
    # What a dead process held is settled first, as anybody would.
    async with as_worker(ports, "sweep") as parts:
        await parts.sweeper.sweep()
    if not (await ports.store.standing(session_id)).at_rest:
        raise UsageError(f"session {session_id} is at work; first: nonoka sessions pause {session_id} --now")


async def _listed(ports: Ports, session_id: str, request: RollbackRequest) -> int:
    target = await find_target(ports.store, session_id, request)
    if isinstance(target, str):
        raise UsageError(target)
    workspace = Path((await ports.store.find_session(session_id)).working_dir)
    done = Rollback(before=None)
    if target.snapshot_id is not None:
        done = await ports.snapshots.roll_back(workspace, target.snapshot_id, session_id, "dry-run", dry_run=True)
    lines = [f"{change.kind:<8} {change.path}" for change in done.changes]
    lines += [f"{'stays':<8} {note.path} ({note.why})" for note in done.kept]
    screen().write([Span(printable(line) + "\n") for line in lines or ["no file would change"]])
    return 0


def _tell(session_id: str, told: list[Event]) -> int:
    last = told[-1] if told else None
    if last is None or last.type is EventType.ROLLBACK_REFUSED:
        why = last.data.get("why") if last else "another process has the session; see: nonoka sessions show"
        say(f"nonoka: error: not rolled back: {why}")
        return FAILED
    lines = [*_strings(last, "files"), *(f"stays    {line}" for line in _strings(last, "kept"))]
    lines.append(f"{session_id} is at the end of turn {last.data.get('to')}; undo it with --undo, or go on with: ")
    spans = [Span(printable(line) + "\n") for line in lines[:-1]]
    screen().write([*spans, Span(lines[-1] + next_steps(session_id, SessionStatus.PAUSED) + "\n")])
    return 0


def _strings(event: Event, key: str) -> list[str]:
    found = event.data.get(key)
    return [str(each) for each in found] if isinstance(found, list) else []
