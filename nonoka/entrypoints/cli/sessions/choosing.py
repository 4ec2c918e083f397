"""Which sessions a signal is for: some by their IDs, those of a status, or all that it applies to."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from nonoka.app import open_store, store_exists
from nonoka.entrypoints.cli.figures import counted, printable
from nonoka.entrypoints.cli.options import Callback
from nonoka.entrypoints.cli.session_ids import known
from nonoka.entrypoints.cli.stores import must_exist
from nonoka.errors import UsageError
from nonoka.ports.store import Store
from nonoka.records.commit import SessionLine
from nonoka.records.session import SessionStatus
from nonoka.records.session_filter import SessionFilter
from nonoka.settings import Settings

#: So many sessions are read at a time, and so many are named before a question.
PAGE = 200
NAMED = 20
#: More tasks than a store has.
_ALL_TASKS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Choice:
    """What the command line said: IDs, or statuses, or all; and whether no question is asked."""

    ids: tuple[str, ...] = ()
    statuses: tuple[SessionStatus, ...] = ()
    every: bool = False
    unasked: bool = False


@dataclass(frozen=True, slots=True)
class AppliesTo:
    """What a signal applies to: sessions of these statuses, with ``live`` also any that is about to go on."""

    verb: str
    statuses: tuple[SessionStatus, ...]
    live: bool = False


def with_choice(callback: Callback) -> Callback:
    """The command takes IDs, --status, --all and --yes; it is called with a ``choice`` made of them."""

    @functools.wraps(callback)
    def command(**given: Any) -> Any:
        statuses = tuple(SessionStatus(status) for status in given.pop("statuses"))
        every, unasked = given.pop("every"), given.pop("unasked")
        return callback(choice=_checked(Choice(given.pop("wanted"), statuses, every, unasked)), **given)

    decorated: Callback = command
    for option in (
        click.option("--yes", "-y", "unasked", is_flag=True, help="With --all: don't ask."),
        click.option("--all", "every", is_flag=True, help="All sessions that this applies to; it asks first."),
        with_statuses("All sessions of this status; may be repeated."),
        click.argument("wanted", metavar="[ID]...", nargs=-1, shell_complete=known),
    ):
        decorated = option(decorated)
    return decorated


def with_statuses(told: str) -> Callable[[Callback], Callback]:
    """The command takes --status, any number of times."""
    known = click.Choice([status.value for status in SessionStatus])
    return click.option("--status", "statuses", metavar="STATUS", type=known, multiple=True, help=told)


def chosen(settings: Settings, choice: Choice, applies: AppliesTo) -> list[str] | None:
    """The IDs as they were given, or the ids of the sessions that were meant. None: a person said no.

    Raises UsageError where --all can't be confirmed, UnknownSession for IDs where there is no store.
    """
    if choice.ids:
        must_exist(settings, choice.ids[0])
        return list(dict.fromkeys(choice.ids))
    if choice.every and not choice.unasked and not sys.stdin.isatty():
        raise UsageError(f"there is no terminal to ask on whether to {applies.verb} all of them; pass --yes")
    lines = asyncio.run(_found(settings, choice, applies)) if store_exists(settings) else []
    if choice.every and lines and not (choice.unasked or _confirmed(lines, applies.verb)):
        return None
    return [line.index.session_id for line in lines]


def _checked(choice: Choice) -> Choice:
    given = [bool(choice.ids), bool(choice.statuses), choice.every]
    if not any(given):
        raise click.UsageError("Missing argument 'ID...', or --status, or --all.", click.get_current_context())
    if given.count(True) > 1:
        raise UsageError("IDs, --status and --all exclude each other; say which sessions in one way")
    return choice


async def _found(settings: Settings, choice: Choice, applies: AppliesTo) -> list[SessionLine]:
    async with open_store(settings) as (store, _):
        if not choice.every:
            return await _listed(store, SessionFilter(statuses=choice.statuses))
        lines = await _listed(store, SessionFilter(statuses=applies.statuses))
        others = await _live(store) - {line.index.session_id for line in lines} if applies.live else set()
        return [*lines, *[await _line(store, session_id) for session_id in sorted(others)]]


async def _listed(store: Store, matching: SessionFilter) -> list[SessionLine]:
    lines: list[SessionLine] = []
    while page := await store.list_sessions(limit=PAGE, matching=matching):
        lines += page
        matching = matching.model_copy(update={"before": page[-1].index.session_id})
    return lines


async def _live(store: Store) -> set[str]:
    ready = [one.task for one in await store.ready_tasks(limit=_ALL_TASKS)]
    return {task.session_id for task in [*ready, *(claim.task for claim in await store.running_claims())]}


async def _line(store: Store, session_id: str) -> SessionLine:
    status = (await store.standing(session_id)).status
    return SessionLine(index=await store.find_session(session_id), status=status.value)


def _confirmed(lines: list[SessionLine], verb: str) -> bool:
    for line in lines[:NAMED]:
        click.echo(f"{line.index.session_id}  {line.status}  {printable(line.index.title)}", err=True)
    if len(lines) > NAMED:
        click.echo(f"and {len(lines) - NAMED} more", err=True)
    return click.confirm(f"{verb.capitalize()} {counted(len(lines), 'session')}?", err=True)
