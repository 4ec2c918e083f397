"""A group of commands whose modules are imported when one is run, or its help is asked for."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """Knows where each command lives (``MODULE:NAME``), in the order in which help lists them."""

    def __init__(self, *args: Any, homes: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._homes = homes

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, as listed in help."""
        return list(self._homes)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now; None if there is no such name."""
        home = self._homes.get(cmd_name)
        if home is None:
            return None
        module, _, name = home.partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As of every group, but a name that is none brings the nearest one with it."""
        if args and not args[0].startswith("-") and args[0] not in self._homes and not ctx.resilient_parsing:
            near = difflib.get_close_matches(args[0], self._homes, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)
