"""``nonoka``: finds the command, and turns whatever it raises into one line and an exit status.

Imports neither pydantic nor asyncio, so that ``nonoka --version`` and a wrong option are answered at once.
"""

from __future__ import annotations

import os
import signal
import sys

import click

from nonoka import __version__
from nonoka.entrypoints.cli.failures import Invocation, exit_status_of, let_go_of_stdout
from nonoka.entrypoints.cli.lazy_group import LazyGroup
from nonoka.entrypoints.cli.streams import prepare_streams

_HERE = "nonoka.entrypoints.cli"


@click.group(
    cls=LazyGroup,
    homes={
        "run": f"{_HERE}.run:command",
        "enqueue": f"{_HERE}.enqueue:command",
        "worker": f"{_HERE}.worker:command",
        "sweep": f"{_HERE}.sweep:command",
        "sessions": f"{_HERE}.sessions.group:group",
        "plan": f"{_HERE}.plan.group:group",
        "demo": f"{_HERE}.demo.command:command",
        "doctor": f"{_HERE}.doctor.command:command",
        "gc": f"{_HERE}.gc:command",
        "backup": f"{_HERE}.backup:command",
        "init": f"{_HERE}.init:command",
        "completion": f"{_HERE}.completion:command",
    },
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="nonoka")
def nonoka() -> None:
    """Durable agent sessions: kill any process at any instant, and the work goes on.

    A session is one conversation with an agent, kept in .nonoka/sessions.db of the project.

    \b
      nonoka demo                              see it work, without a key
      nonoka init                              settings and an example agent to start from
      nonoka doctor                            what is missing here
      nonoka run "Why do the tests fail?"      work on a session here
      nonoka enqueue "Mend the tests"          or leave it to: nonoka worker

    Settings: options, then NONOKA_* variables (NONOKA_DB, NONOKA_MODEL, NONOKA_MAX_MODEL_TURNS, ...), then
    the nearest nonoka.toml.

    Exit status: 0 done, 1 failed or cancelled, 2 usage, 3 paused and waiting for someone, 130 interrupted.
    """


def main() -> int:
    """Run the command line of this process; returns its exit status."""
    prepare_streams()
    _find_modules_here()
    invocation = Invocation()
    try:
        status = nonoka.main(prog_name="nonoka", standalone_mode=False, obj=invocation)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  the edge: nothing gets past it but an exit status
        status = exit_status_of(error, invocation)
    # All is said and the status is known: while it ends, Python would let a Ctrl-C kill the process instead.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    let_go_of_stdout()
    return status if isinstance(status, int) else 0


def _find_modules_here() -> None:
    # Last, so that no file of the project hides an installed module; an agent may be named MODULE:NAME.
    here = os.getcwd() if _has_directory() else ""
    if here and here not in sys.path:
        sys.path.append(here)


def _has_directory() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True
