"""The argument ID of commands: the beginning of a session's id, which a shell can complete."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from nonoka.app import open_store, store_exists
from nonoka.records.commit import SessionLine
from nonoka.settings import Settings, load_settings

#: So many of the newest sessions are offered.
OFFERED = 50


def session_ids(name: str = "wanted", **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The command takes an ID, or with ``nargs`` several."""
    return click.argument(
        name, metavar="ID" if options.get("nargs") is None else "ID...", shell_complete=known, **options
    )


def known(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The newest sessions of the store whose id begins so; none where they can't be read."""
    try:
        settings = _settings(context)
        lines = asyncio.run(_newest(settings)) if store_exists(settings) else []
    except Exception:  # noqa: BLE001  who presses the tab key wants no error in the middle of a line
        return []
    return [
        CompletionItem(line.index.session_id, help=f"{line.status}: {line.index.title}")
        for line in lines
        if line.index.session_id.startswith(incomplete)
    ]


def _settings(context: click.Context) -> Settings:
    cwd = Path(context.params.get("cwd") or os.getcwd()).absolute()
    return load_settings(cwd, os.environ, {"db": context.params.get("db")})


async def _newest(settings: Settings) -> list[SessionLine]:
    async with open_store(settings) as (store, _):
        return await store.list_sessions(limit=OFFERED)
