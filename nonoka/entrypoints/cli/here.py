"""Works on one session in this process and shows it: run, resume --here and retry --here end up here."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Sequence
from typing import Any

from nonoka.entrypoints.cli.display import Display
from nonoka.entrypoints.cli.failures import say
from nonoka.entrypoints.cli.interrupts import EXIT, Interrupts, Reason
from nonoka.entrypoints.cli.reader import Reader
from nonoka.entrypoints.cli.statuses import exit_status, next_steps
from nonoka.entrypoints.cli.summary import say_why_not_done
from nonoka.errors import WorkerUnfit
from nonoka.ports.store import TaskStore
from nonoka.records.commit import Committed, SessionDetail
from nonoka.records.event import Event
from nonoka.records.session import SessionStatus
from nonoka.runner import Runner


async def work_here(
    runner: Runner,
    session_id: str,
    interrupts: Interrupts,
    display: Display,
    *,
    claimed: Committed | None = None,
    before: Sequence[Event] = (),
) -> int:
    """The session is worked on here until it is at rest, or until this process is asked to stop.

    What happened ``before`` is not shown again. Returns the exit status of ``nonoka run``.
    """
    store = runner.ports.store
    clock = runner.ports.clock
    interrupts.at_work_on = session_id
    display.waiting.ours = await _workers_here(store)
    display.know(before)
    reader = Reader(store, clock, session_id, display.show, after_seq=before[-1].seq if before else 0)
    reading = asyncio.create_task(_read(reader, interrupts))
    status = asyncio.create_task(display.keep_status(reader, store, clock, session_id))
    reason = await _until_stopped(runner, session_id, claimed, interrupts)
    standing = await store.standing(session_id)
    if not standing.at_rest:
        reading.cancel()
    status.cancel()
    await asyncio.gather(reading, status, return_exceptions=True)
    detail = await store.detail(session_id)
    if reason != "closed":
        await reader.read_rest()
        await reader.in_turn(functools.partial(display.close, detail))
    interrupts.at_work_on = None
    if reason is not None and detail.state.status not in _ENDED:
        say(_after_stop(session_id, reason, detail))
        return EXIT[reason]
    say_why_not_done(detail.state)
    return exit_status(detail.state.status)


_ENDED = (SessionStatus.COMPLETED, SessionStatus.FAILED, SessionStatus.CANCELLED)


async def _workers_here(store: TaskStore) -> frozenset[str]:
    return frozenset(worker.worker_id for worker in await store.workers() if worker.pid == os.getpid())


async def _until_stopped(
    runner: Runner, session_id: str, claimed: Committed | None, interrupts: Interrupts
) -> Reason | None:
    work = asyncio.create_task(runner.work_on(session_id, claimed))
    either: list[asyncio.Future[Any]] = [work, interrupts.asked]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    reason = None
    if not work.done():
        reason = interrupts.asked.result()
        await (runner.pause_here(session_id) if reason == "pause" else runner.stop())
    try:
        await work
    except WorkerUnfit as error:
        if reason is None:
            raise WorkerUnfit(f"{error}. Go on with: nonoka sessions resume {session_id} --here") from error
        # It ends with this process, and then the signal that was left has its effect.
        say(f"nonoka: {error}")
    return reason


async def _read(reader: Reader, interrupts: Interrupts) -> None:
    try:
        await reader.read()
    except BrokenPipeError:
        interrupts.ask("closed")


def _after_stop(session_id: str, reason: Reason, detail: SessionDetail) -> str:
    status, plan = detail.state.status, detail.plan is not None
    if status is SessionStatus.PAUSED:
        return f"nonoka: paused. Go on with: {next_steps(session_id, status, plan=plan)}"
    if reason == "pause":
        return (
            f"nonoka: not paused yet: {session_id} pauses once the call in flight is over or settled. "
            f"See: nonoka sessions show {session_id}"
        )
    return f"nonoka: handed back: {next_steps(session_id, status, plan=plan)}"
