"""``nonoka sessions list``."""

from __future__ import annotations

import asyncio
import os
import shlex
from dataclasses import dataclass
from typing import Any

import click

from nonoka.app import open_store, store_exists
from nonoka.entrypoints.cli.failures import say
from nonoka.entrypoints.cli.figures import age, shortened
from nonoka.entrypoints.cli.json_output import write_json
from nonoka.entrypoints.cli.list_contract import line_contract
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.screen import Span, screen
from nonoka.entrypoints.cli.session_ids import known
from nonoka.entrypoints.cli.sessions.choosing import with_statuses
from nonoka.entrypoints.cli.since import Moment, moment
from nonoka.entrypoints.cli.statuses import goes_on_from
from nonoka.entrypoints.cli.stores import must_exist, short_ids
from nonoka.ports.clock import Clock
from nonoka.ports.store import Store
from nonoka.records.commit import SessionLine
from nonoka.records.session import SessionStatus
from nonoka.records.session_filter import SessionFilter
from nonoka.settings import Settings

HEADERS = ("id", "status", "title", "model", "age", "directory")
LIMIT = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line said about which sessions are listed."""

    limit: int = LIMIT
    statuses: tuple[str, ...] = ()
    since: Moment | None = None
    below: str | None = None
    search: str = ""
    before: str | None = None

    @property
    def narrows(self) -> bool:
        """Whether there may be sessions that are not listed."""
        return bool(self.statuses or self.since or self.below or self.search or self.before)

    def matching(self, now: int, before: str | None) -> SessionFilter:
        """The same for the store; ``before`` is a whole id."""
        return SessionFilter(
            statuses=tuple(SessionStatus(status) for status in self.statuses),
            created_since=self.since.at(now) if self.since else 0,
            below=_text(os.path.abspath(self.below)) if self.below is not None else "",
            search=self.search,
            before=before,
        )

    def next_page(self, last: str) -> str:
        """The command that lists what comes after the session of this id."""
        words = ["nonoka", "sessions", "list"]
        for status in self.statuses:
            words += ["--status", status]
        words += ["--since", self.since.written] if self.since else []
        words += ["--in", self.below] if self.below is not None else []
        words += ["--search", self.search] if self.search else []
        words += ["--limit", str(self.limit)] if self.limit != LIMIT else []
        return shlex.join([*words, "--before", last])


@click.command("list", short_help="List sessions, newest first.")
@with_statuses("Only those of this status; may be repeated.")
@click.option(
    "--since", metavar="WHEN", callback=moment, help="Only those created since: 2h, 3d, or a date (ISO)."
)
@click.option("--in", "below", metavar="DIR", help="Only those that work in DIR, or below it.")
@click.option(
    "--search", metavar="TEXT", default="", help="Only those with TEXT in the title, or at the id's beginning."
)
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), default=LIMIT, show_default=True, help="At most so many."
)
@click.option(
    "--before", metavar="ID", shell_complete=known, help="The page after the session ID (a list says which)."
)
@click.option("--json", "as_json", is_flag=True, help="An array, newest first (docs/cli.md has its keys).")
@with_settings()
def command(*, settings: Settings, as_json: bool, **asked: Any) -> int:
    """List the sessions of this project's store, newest first.

    \b
      nonoka sessions list --status failed --since 2h
      nonoka sessions list --in . --search "release notes"
      nonoka sessions list --json | jq -r '.[] | select(.status == "failed").session_id'

    If there are more, stderr has the command that lists them.
    """
    wanted = Asked(**asked)
    found = _found(settings, wanted, as_json=as_json)
    if as_json:
        write_json([line_contract(line) for line in found.lines], indent=2)
    elif not found.lines:
        told = "no such session; all of them: nonoka sessions list" if wanted.narrows else "no sessions yet"
        screen().write([Span(told + "\n", "dim")])
    else:
        rows = [
            row(line, short, found.now, taken_up=line.index.session_id in found.taken_up)
            for line, short in zip(found.lines, found.ids, strict=True)
        ]
        screen().table(HEADERS, rows)
    if found.more:
        say(f"more: {wanted.next_page(found.lines[-1].index.session_id)}")
    return 0


@dataclass(frozen=True, slots=True)
class _Found:
    lines: list[SessionLine]
    ids: list[str]
    now: int
    more: bool
    #: those of them that wait for a worker to read a signal that takes them up
    taken_up: frozenset[str] = frozenset()


def _found(settings: Settings, asked: Asked, *, as_json: bool) -> _Found:
    if asked.before is not None:
        must_exist(settings, asked.before)
    if not store_exists(settings):
        return _Found([], [], 0, more=False)
    return asyncio.run(_read(settings, asked, with_ids=not as_json))


async def _read(settings: Settings, asked: Asked, *, with_ids: bool) -> _Found:
    async with open_store(settings) as (store, clock):
        # One more than is shown tells whether there are more.
        lines = await _lines(store, clock, asked, asked.limit + 1)
        shown = lines[: asked.limit]
        ids = await short_ids(store, [line.index.session_id for line in shown]) if with_ids else []
        taken_up = await _taken_up(store, shown) if with_ids else frozenset()
        return _Found(shown, ids, clock.now_ms(), more=len(lines) > len(shown), taken_up=taken_up)


async def _taken_up(store: Store, lines: list[SessionLine]) -> frozenset[str]:
    stopped = [line.index.session_id for line in lines if goes_on_from(SessionStatus(line.status))]
    return frozenset([one for one in stopped if not (await store.standing(one)).at_rest])


async def _lines(store: Store, clock: Clock, asked: Asked, limit: int) -> list[SessionLine]:
    before = (await store.find_session(asked.before)).session_id if asked.before is not None else None
    return await store.list_sessions(limit=limit, matching=asked.matching(clock.now_ms(), before))


def _text(path: str) -> str:
    # A name that is no UTF-8 can't be asked for in the store, and no session works there.
    return os.fsencode(path).decode("utf-8", "replace")


def row(line: SessionLine, short_id: str, now: int, *, taken_up: bool = False) -> tuple[str, ...]:
    """A session in the columns of ``HEADERS``; one that is ``taken_up`` waits for a worker only."""
    index = line.index
    model = index.model if len(index.model) <= 40 else index.model[:5] + "…" + index.model[-34:]
    status = f"{line.status}, taken up" if taken_up else line.status
    cells = (short_id, status, index.title, model, age(now - index.created_at), index.working_dir)
    return tuple(shortened(cell, 200) for cell in cells)
