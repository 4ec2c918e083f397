"""``nonoka sweep``: the recovery pass that every worker makes, on its own; for cron."""

from __future__ import annotations

import asyncio
import signal

import click

from nonoka.app import WorkerParts, as_worker, broker_name, open_ports, store_exists
from nonoka.entrypoints.cli.failures import FAILED, say
from nonoka.entrypoints.cli.figures import printable
from nonoka.entrypoints.cli.json_output import write_json
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.screen import Span, Style, screen
from nonoka.records.sweep import SweepReport
from nonoka.records.task import session_of
from nonoka.settings import Settings


@click.command("sweep", short_help="Find what was lost and send it on its way again.")
@click.option(
    "--every", metavar="S", type=click.FloatRange(min=0.1), help="Make a pass every S seconds until stopped."
)
@click.option("--json", "as_json", is_flag=True, help="The report of each pass as a line of JSON.")
@with_settings()
def command(*, settings: Settings, every: float | None, as_json: bool) -> int:
    """Make one recovery pass: what dead workers held is settled and made ready again.

    It runs no tool and no model; a worker, or nonoka sessions resume ID --here, goes on from there. Each
    worker makes such a pass every second, so this is for machines where none runs all the time. Safe at any
    time, anywhere, any number at once.

    \b
      * * * * *  cd /srv/project && nonoka sweep

    Exit status: 0 done, 1 something could not be recovered (it is named). With --every 0 once stopped.
    """
    if every is None and not store_exists(settings):
        show(SweepReport(), as_json=as_json)
        return 0
    return asyncio.run(_sweep(settings, every, as_json=as_json))


async def _sweep(settings: Settings, every: float | None, *, as_json: bool) -> int:
    name = broker_name(settings)
    async with open_ports(settings) as ports, as_worker(ports, "sweep", broker=name) as parts:
        if every is not None:
            return await _sweep_every(parts, every, as_json=as_json)
        report = await parts.sweeper.sweep()
    show(report, as_json=as_json)
    return FAILED if report.errors else 0


async def _sweep_every(parts: WorkerParts, every: float, *, as_json: bool) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    quiet = False
    while not stop.is_set():
        report = await parts.sweeper.sweep()
        if as_json or not quiet or report != SweepReport():
            show(report, as_json=as_json)
        # Said once; a line a second that nothing happened helps nobody.
        quiet = True
        try:
            async with asyncio.timeout(every):
                await stop.wait()
        except TimeoutError:
            continue
    return 0


def show(report: SweepReport, *, as_json: bool) -> None:
    """The report is on stdout; what could not be done is also on stderr."""
    if as_json:
        write_json(report.model_dump(mode="json"))
    else:
        screen().write(report_lines(report))
        for error in report.errors:
            say(f"nonoka: error: {error}")


def report_lines(report: SweepReport) -> list[Span]:
    """What a pass did, a line each."""
    lines: list[tuple[str, Style]] = [
        *((f"released {task}: its worker had died", "good") for task in report.released),
        *((f"gave up {session}; see: nonoka sessions show {session}", "bad") for session in report.failed),
        *((f"repaired {session}: it had no task", "good") for session in report.repaired),
        *((f"removed worker {worker}: it had died", "dim") for worker in report.removed_workers),
        *((f"waiting {_waiting(w.task_id)}: {w.why}", "warn") for w in report.waiting),
    ]
    if report == SweepReport():
        lines = [("nothing to recover", "dim")]
    return [Span(printable(text) + "\n", style) for text, style in lines]


def _waiting(task_id: str) -> str:
    return f"{task_id} (nonoka sessions show {session_of(task_id)})"
