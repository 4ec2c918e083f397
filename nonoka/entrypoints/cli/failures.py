"""What the command line says of an exception: one line on stderr, and an exit status. ``main`` calls this."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from dataclasses import dataclass

import click

from nonoka.errors import NonokaError, PlanInvalid, UsageError, WorkerUnfit

FAILED = 1
USAGE = 2
INTERRUPTED = 130
#: what a shell reports of a process that SIGPIPE ended
STDOUT_CLOSED = 141


@dataclass(slots=True)
class Invocation:
    """One call of the program; ``debug`` is set by --debug."""

    debug: bool = False


def exit_status_of(error: BaseException, invocation: Invocation) -> int:
    """The exception is told on stderr, with its traceback only in debug; returns what to exit with."""
    match error:
        case BrokenPipeError():
            return STDOUT_CLOSED
        case KeyboardInterrupt() | click.Abort():
            return INTERRUPTED
        case SystemExit():
            return error.code if isinstance(error.code, int) else FAILED
        case click.exceptions.NoArgsIsHelpError():
            say(error.format_message())
            return USAGE
        case click.ClickException():
            say(f"nonoka: error: {_one_line(error.format_message())}{_where_help_is(error)}")
            return error.exit_code
    if invocation.debug:
        say("".join(traceback.format_exception(error)).rstrip())
    if isinstance(error, PlanInvalid):
        # each on a line of its own, as file:line: message, which editors and terminals make a link of
        for line in error.errors:
            say(line)
        found = f"{len(error.errors)} error{'s' if len(error.errors) > 1 else ''}"
        say(f"nonoka: error: the plan can't be run: {found}")
    elif isinstance(error, NonokaError):
        say(f"nonoka: error: {error}")
    else:
        hint = "" if invocation.debug else "; run again with --debug for the traceback"
        say(f"nonoka: error: {named(error)}{hint}")
    if isinstance(error, WorkerUnfit):
        # A thread of a tool still changes things: only the end of the process stops it.
        os._exit(FAILED)
    return USAGE if isinstance(error, UsageError) else FAILED


def named(error: BaseException) -> str:
    """Type and message in one line; of what the system refused its own words, and the file's name."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    message = _one_line(str(error))
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def say(line: str) -> None:
    """The line is on stderr; if nobody reads that any more, it is lost."""
    try:
        print(line, file=sys.stderr, flush=True)  # noqa: T201  this is where the command line speaks
    except OSError:
        return


def let_go_of_stdout() -> None:
    """What is left in stdout's buffer can't raise any more when the process ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell_late_failures_briefly(invocation: Invocation) -> None:
    """What fails in a thread or while objects are let go is one line on stderr, in debug a traceback."""
    if invocation.debug:
        return
    threading.excepthook = lambda failed: say(
        f"nonoka: error: in a thread: {named(failed.exc_value or failed.exc_type())}"
    )
    sys.unraisablehook = lambda failed: say(
        f"nonoka: error: while ending: {named(failed.exc_value or failed.exc_type())}"
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _where_help_is(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f" (see: {context.command_path} --help)" if context is not None else ""
