"""Works on one session in this process and shows it: run, resume --here and retry --here end up here."""

from __future__ import annotations

import asyncio
from typing import Any

from nonoka.entrypoints.cli.contract import session_contract
from nonoka.entrypoints.cli.failures import say
from nonoka.entrypoints.cli.interrupts import EXIT, Interrupts, Reason
from nonoka.entrypoints.cli.json_output import event_json, write_json
from nonoka.entrypoints.cli.reader import Reader, Show
from nonoka.entrypoints.cli.screen import screen
from nonoka.entrypoints.cli.statuses import exit_status, next_steps
from nonoka.entrypoints.cli.summary import closing_line, say_why_not_done, write_answer
from nonoka.entrypoints.cli.timeline import Timeline
from nonoka.records.commit import Committed, SessionDetail
from nonoka.records.event import Event
from nonoka.records.session import SessionStatus
from nonoka.runner import Runner


class Display:
    """What stdout shows of a session: its timeline, NDJSON, or only the final answer."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False, verbose: bool = False) -> None:
        self._json = as_json
        self._quiet = quiet
        self._timeline = Timeline(verbose=verbose)
        self._screen = screen() if not (as_json or quiet) else None

    @property
    def show(self) -> Show:
        """Shows one event."""
        if self._json:
            return lambda event: write_json(event_json(event))
        return self._show_line

    def close(self, detail: SessionDetail) -> None:
        """What comes after the last event."""
        if self._json:
            write_json(session_contract(detail))
        elif self._screen is None:
            write_answer(detail.state)
        else:
            self._screen.write([*self._timeline.ended(), *closing_line(detail.state)])

    def _show_line(self, event: Event) -> None:
        if self._screen is not None:
            self._screen.write(self._timeline.told(event))


async def work_here(
    runner: Runner,
    session_id: str,
    interrupts: Interrupts,
    display: Display,
    *,
    claimed: Committed | None = None,
    after_seq: int = 0,
) -> int:
    """The session is worked on here until it is at rest, or until this process is asked to stop.

    Returns the exit status of ``nonoka run``.
    """
    store = runner.ports.store
    reader = Reader(store, runner.ports.clock, session_id, display.show, after_seq=after_seq)
    reading = asyncio.create_task(_read(reader, interrupts))
    reason = await _until_stopped(runner, session_id, claimed, interrupts)
    standing = await store.standing(session_id)
    if not standing.at_rest:
        reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    detail = await store.detail(session_id)
    if reason != "closed":
        await reader.read_rest()
        await asyncio.to_thread(display.close, detail)
    if reason is not None and detail.state.status not in _ENDED:
        say(_after_stop(session_id, reason, detail.state.status))
        return EXIT[reason]
    say_why_not_done(detail.state)
    return exit_status(detail.state.status)


_ENDED = (SessionStatus.COMPLETED, SessionStatus.FAILED, SessionStatus.CANCELLED)


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
    await work
    return reason


async def _read(reader: Reader, interrupts: Interrupts) -> None:
    try:
        await reader.read()
    except BrokenPipeError:
        interrupts.ask("closed")


def _after_stop(session_id: str, reason: Reason, status: SessionStatus) -> str:
    if status is SessionStatus.PAUSED:
        return f"nonoka: paused. Go on with: {next_steps(session_id, status)}"
    if reason == "pause":
        return (
            f"nonoka: another worker has {session_id}; it pauses after the call in flight. "
            f"See: nonoka sessions show {session_id}"
        )
    return f"nonoka: handed back: {next_steps(session_id, status)}"
