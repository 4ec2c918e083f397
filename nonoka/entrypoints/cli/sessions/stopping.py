"""``nonoka sessions pause`` and ``cancel``: a signal, and its effect at once where no worker has the session."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import click

from nonoka.decisions.transitions import TERMINAL
from nonoka.entrypoints.cli.failures import FAILED
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.sessions.choosing import AppliesTo, Choice, chosen, with_choice
from nonoka.entrypoints.cli.sessions.each import each, tell_none
from nonoka.entrypoints.cli.statuses import next_steps
from nonoka.errors import UsageError
from nonoka.records.commit import Standing
from nonoka.records.session import SessionStatus
from nonoka.runner import Runner
from nonoka.settings import Settings

_PAUSES = AppliesTo("pause", (SessionStatus.CREATED, SessionStatus.RUNNING), live=True)
_CANCELS = AppliesTo("cancel", (*_PAUSES.statuses, SessionStatus.PAUSED), live=True)


@dataclass(frozen=True, slots=True)
class Stop:
    """Which of the two; ``at_once``: what runs is cut off."""

    verb: str
    aim: SessionStatus
    at_once: bool


@click.command("pause", short_help="Stop sessions until they are resumed.")
@with_choice
@click.option("--now", "at_once", is_flag=True, help="Don't wait for the call in flight: cut it off.")
@with_settings()
def pause(*, settings: Settings, choice: Choice, at_once: bool) -> int:
    """Stop sessions after the call in flight, until nonoka sessions resume.

    With --now what runs is cut off and settled, and begins again after the resume.

    \b
      nonoka sessions pause 3f2a 91bc
      nonoka sessions pause --all --now

    Exit status: 0 paused or told to, 1 some could not be (each is named) or not confirmed, 2 none could be: it
    has ended, or ID names no session.
    """
    return _stop_chosen(settings, choice, _PAUSES, Stop("pause", SessionStatus.PAUSED, at_once))


@click.command("cancel", short_help="End the runs of sessions.")
@with_choice
@with_settings()
def cancel(*, settings: Settings, choice: Choice) -> int:
    """End the runs of sessions: what they had started is ended, and their calls never run again.

    The conversations stay, and each session can take another prompt.

    \b
      nonoka sessions cancel 3f2a
      nonoka sessions cancel --status paused

    Exit status: 0 cancelled or told to, 1 some could not be (each is named) or not confirmed, 2 none could be:
    it has ended otherwise, or ID names no session.
    """
    return _stop_chosen(settings, choice, _CANCELS, Stop("cancel", SessionStatus.CANCELLED, at_once=True))


def _stop_chosen(settings: Settings, choice: Choice, applies: AppliesTo, stop: Stop) -> int:
    wanted = chosen(settings, choice, applies)
    if wanted is None:
        return FAILED
    return asyncio.run(_stop_each(settings, wanted, stop)) if wanted else tell_none(stop.verb)


async def _stop_each(settings: Settings, wanted: Sequence[str], stop: Stop) -> int:
    async with Runner(settings=settings, own_process=True) as runner:
        return await each(wanted, lambda one: _stop(runner, one, stop))


async def _stop(runner: Runner, wanted: str, stop: Stop) -> str:
    store = runner.ports.store
    index = await store.find_session(wanted)
    session_id, plan = index.session_id, index.kind == "plan"
    before = await store.standing(session_id)
    if before.at_rest and before.status is stop.aim:
        return f"{session_id} is {stop.aim.value} already; next: {next_steps(session_id, stop.aim, plan=plan)}"
    _refuse_ended(session_id, before, stop, plan=plan)
    if stop.aim is SessionStatus.PAUSED:
        await runner.pause_session(session_id, now=stop.at_once)
    else:
        await runner.cancel_session(session_id)
    return _told(session_id, await runner.heed(session_id), stop, plan=plan)


def _refuse_ended(session_id: str, standing: Standing, stop: Stop, *, plan: bool) -> None:
    if standing.at_rest and standing.status in TERMINAL:
        raise UsageError(
            f"session {session_id} is {standing.status.value} already: there is nothing to {stop.verb}; "
            f"next: {next_steps(session_id, standing.status, plan=plan)}"
        )


def _told(session_id: str, after: Standing, stop: Stop, *, plan: bool) -> str:
    if after.at_rest and after.status is stop.aim:
        return f"{stop.aim.value} {session_id}; next: {next_steps(session_id, stop.aim, plan=plan)}"
    if after.at_rest and after.status in TERMINAL:
        then = next_steps(session_id, after.status, plan=plan)
        return f"{session_id} was faster: it is {after.status.value}; next: {then}"
    when = "within 2 s" if stop.at_once else "after the call in flight"
    told = f"told {session_id} to {stop.verb}: its worker stops it {when}"
    sooner = "" if stop.at_once else f"; sooner: nonoka sessions pause {session_id} --now"
    return f"{told}{sooner}; see: nonoka sessions show {session_id}"
