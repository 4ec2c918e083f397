"""``nonoka worker``: processes that run tasks until they are told to stop."""

from __future__ import annotations

import importlib

import click

from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.served_at import served_at
from nonoka.settings import Settings


@click.command("worker", short_help="Run tasks until stopped.")
@click.option(
    "--processes", metavar="N", type=click.IntRange(1, 256), default=1, show_default=True, help="Worker processes."
)
@click.option(
    "--threads",
    metavar="M",
    type=click.IntRange(1, 1024),
    default=16,
    show_default=True,
    help="Tasks that each process runs at a time.",
)
@click.option(
    "--metrics",
    metavar="PORT",
    callback=served_at,
    help="Serve metrics for Prometheus on this port of 127.0.0.1, or on HOST:PORT.",
)
@with_settings()
def command(*, settings: Settings, processes: int, threads: int, metrics: tuple[str, int] | None) -> int:
    """Run the tasks of this project's store until stopped.

    Model, agent and limits are stored with each session; a worker needs what the model needs (OPENAI_API_KEY)
    and must be able to import the agent. A process that dies is replaced, and what it held is taken up again.
    SIGTERM or Ctrl-C finishes or hands back what is held; a second one hands back at once.

    \b
      nonoka worker --processes 2 --threads 8 --metrics 9464

    Exit status: 0 stopped, 1 the store can't be used, 2 the port of --metrics can't be had.
    """
    # By name: workers and entry points are siblings, neither may depend on the other. This is the one place
    # where a command starts what is next door.
    status: int = importlib.import_module("workers.supervisor").supervise(
        settings, processes=processes, threads=threads, metrics=metrics
    )
    return status
