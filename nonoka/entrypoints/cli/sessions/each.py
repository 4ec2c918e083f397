"""The same for several sessions: one that it can't be done for stops none of the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from nonoka.entrypoints.cli.failures import FAILED, USAGE, say
from nonoka.entrypoints.cli.screen import Span, screen
from nonoka.errors import NonokaError, UsageError, WorkerUnfit

#: Does it for one ID; returns what is told of it in a line.
Act = Callable[[str], Awaitable[str]]


async def each(wanted: Sequence[str], act: Act) -> int:
    """Each has had its line, on stderr where it could not be done.

    Returns the exit status: 0 all done, 1 some not, 2 none, because of what was asked. Of a single one the
    error is raised.
    """
    if len(wanted) == 1:
        _tell(await act(wanted[0]))
        return 0
    failed: list[NonokaError] = []
    for one in wanted:
        try:
            _tell(await act(one))
        except WorkerUnfit:
            raise
        except NonokaError as error:
            say(f"nonoka: error: {error}")
            failed.append(error)
    return _exit_status(failed, len(wanted))


def tell_none(verb: str) -> int:
    """It is said that no session was meant, which is no failure; returns the exit status."""
    _tell(f"no session to {verb}; see: nonoka sessions list")
    return 0


def _exit_status(failed: Sequence[NonokaError], count: int) -> int:
    if not failed:
        return 0
    return USAGE if len(failed) == count and all(isinstance(e, UsageError) for e in failed) else FAILED


def _tell(line: str) -> None:
    screen().write([Span(line + "\n")])
