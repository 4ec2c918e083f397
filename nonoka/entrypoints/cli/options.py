"""The options that commands share, and the settings that come of them."""

from __future__ import annotations

import functools
import os
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from nonoka.entrypoints.cli.failures import STDOUT_CLOSED, Invocation, tell_late_failures_briefly
from nonoka.entrypoints.cli.logs import set_up_logging
from nonoka.errors import UsageError
from nonoka.records.runtime import RuntimeLimits
from nonoka.records.workspace import Isolation
from nonoka.settings import LogLevel, Settings, load_settings

Callback = Callable[..., Any]

_LIMITS = tuple(RuntimeLimits.model_fields)
#: the options that say what a new session is
OF_NEW_SESSIONS = ("model", "agent", "isolation", "any_workspace", *_LIMITS)
_LIMIT_HELP = {
    "model_turns": "Model answers",
    "tool_calls": "Tool calls",
    "wall_s": "Seconds, pauses not counted",
    "input_tokens": "Tokens sent to the model",
    "output_tokens": "Tokens that it answers with",
    "total_tokens": "Tokens both ways",
    "cost_usd": "US dollars",
}


def with_settings(*, of_new_sessions: tuple[str, ...] = ()) -> Callable[[Callback], Callback]:
    """The command has the common options, and these of ``OF_NEW_SESSIONS``.

    It is called with ``settings`` made of them.
    """
    names = ("db", "cwd", "log_level", *of_new_sessions)
    options = [*(_new_session_option(name) for name in of_new_sessions), *_common_options()]

    def decorate(callback: Callback) -> Callback:
        @functools.wraps(callback)
        def command(**given: Any) -> Any:
            try:
                return callback(settings=_settings({name: given.pop(name) for name in names}), **given)
            except BrokenPipeError:
                # Here, for click would make it status 1: a failure of the session's, for those who ask.
                return STDOUT_CLOSED

        decorated: Callback = command
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def given_for_new_sessions(context: click.Context) -> list[str]:
    """The options on this command line that only a new session can heed, as they are written."""
    return [_flag(name) for name in OF_NEW_SESSIONS if context.params.get(name) is not None]


def _settings(flags: dict[str, Any]) -> Settings:
    cwd = Path(flags.pop("cwd") or _current_directory()).absolute()
    if flags["db"]:
        # Relative to where the person stands, not to the workspace that --cwd names.
        flags["db"] = str(Path(flags["db"]).expanduser().absolute())
    settings = load_settings(cwd, os.environ, flags)
    invocation = click.get_current_context().find_object(Invocation) or Invocation()
    set_up_logging(settings.log_level, debug=invocation.debug)
    tell_late_failures_briefly(invocation)
    return settings


def _current_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        raise UsageError(
            "the current directory is gone; change to one that exists, or name one with --cwd"
        ) from None


def _note_debug(context: click.Context, option: click.Parameter, debug: bool) -> None:
    invocation = context.find_object(Invocation)
    if invocation is not None and debug:
        invocation.debug = True


def _common_options() -> list[Callable[[Callback], Callback]]:
    return [
        click.option("--db", metavar="FILE", help="The store. Default: .nonoka/sessions.db of the project."),
        click.option(
            "--cwd",
            metavar="DIR",
            type=click.Path(exists=True, file_okay=False),
            help="The workspace, and where settings are looked up. Default: the current directory.",
        ),
        click.option(
            "--log-level",
            type=click.Choice(typing.get_args(LogLevel)),
            help="How much is logged on stderr. Default: warning.",
        ),
        click.option(
            "--debug",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_note_debug,
            help="Show tracebacks.",
        ),
    ]


def _new_session_option(name: str) -> Callable[[Callback], Callback]:
    match name:
        case "model":
            return click.option(
                "--model", metavar="NAME", help="Such as openai:gpt-4o-mini; script:FILE needs no key."
            )
        case "agent":
            return click.option("--agent", metavar="NAME", help="MODULE:NAME or FILE.py:NAME. Default: default.")
        case "isolation":
            return click.option(
                "--isolation",
                type=click.Choice(typing.get_args(Isolation)),
                help="worktree: a git working tree of its own, on a branch nonoka/ID. Default: none.",
            )
        case "any_workspace":
            return click.option(
                "--any-workspace",
                is_flag=True,
                default=None,
                help="Even / or the home directory: a snapshot then keeps all that is in it.",
            )
        case _:
            return click.option(_flag(name), name, type=_type(name), metavar="N", help=_limit_help(name))


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _type(name: str) -> type[int] | type[float]:
    return int if int in typing.get_args(RuntimeLimits.model_fields[name].annotation) else float


def _limit_help(name: str) -> str:
    for_session = name.startswith("session_")
    what = _LIMIT_HELP[name.removeprefix("session_").removeprefix("max_")]
    default = RuntimeLimits.model_fields[name].default
    per = "session" if for_session else "run"
    return f"{what}, at most, in a {per}." + (f" Default: {default}." if default is not None else "")
