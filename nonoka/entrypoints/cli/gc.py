"""``nonoka gc``: deletes old sessions, and what is left of those that are gone."""

from __future__ import annotations

import asyncio

import click

from nonoka.app import open_ports, store_exists
from nonoka.engine.gc import collect
from nonoka.entrypoints.cli.failures import FAILED, say
from nonoka.entrypoints.cli.figures import counted, printable, size
from nonoka.entrypoints.cli.json_output import write_json
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.screen import Span, Style, screen
from nonoka.records.retention import CollectionReport
from nonoka.settings import Settings

#: So many sessions are named.
NAMED = 20


@click.command("gc", short_help="Delete old sessions, and what is left of deleted ones.")
@click.option("--dry-run", is_flag=True, help="Change nothing; say what would go.")
@click.option(
    "--older-than",
    "days",
    metavar="DAYS",
    type=click.FloatRange(min=0),
    help="Delete ended sessions that were left alone for so long. Default: keep_days; without it, none.",
)
@click.option("--json", "as_json", is_flag=True, help="The report as JSON (docs/cli.md).")
@with_settings()
def command(*, settings: Settings, dry_run: bool, days: float | None, as_json: bool) -> int:
    """Delete old sessions if that is asked for, and what nobody needs any more: snapshots and kept results of
    deleted sessions, working trees of theirs in which all is committed (their branches stay), free pages of the
    store.

    It may be used while workers run, and killed at any moment: the next one goes on. A worker makes such a
    collection once an hour.

    \b
      nonoka gc --dry-run --older-than 30
      nonoka gc --older-than 30

    Exit status: 0 done, 1 something could not be done (it is named).
    """
    report = CollectionReport()
    if store_exists(settings):
        report = asyncio.run(_collect(settings, days, dry_run=dry_run))
    if as_json:
        write_json(report.model_dump(mode="json"))
    else:
        screen().write(report_lines(report, dry_run=dry_run))
    for error in report.errors:
        say(f"nonoka: error: {error}")
    return FAILED if report.errors else 0


async def _collect(settings: Settings, days: float | None, *, dry_run: bool) -> CollectionReport:
    async with open_ports(settings) as ports:
        wanted = ports.retention if days is None else ports.retention.model_copy(update={"keep_days": days})
        return await collect(ports, wanted, dry_run=dry_run)


def report_lines(report: CollectionReport, *, dry_run: bool) -> list[Span]:
    """What went, or would go, a line each."""
    verb = "would remove" if dry_run else "removed"
    lines: list[tuple[str, Style]] = [
        *((f"{verb} session {session_id}", "") for session_id in report.sessions[:NAMED]),
        *_rest(verb, len(report.sessions) - NAMED),
        *((f"{verb} {directory}", "") for directory in report.directories),
        *((f"left {one.directory}: {one.why}", "warn") for one in report.left),
        *_sized(verb, report),
    ]
    if report.let_go:
        told = f"{counted(report.let_go, 'snapshot')} of ended sessions: all together take more than snapshots_mb"
        lines.append((f"{verb} {told}", "warn"))
    if report.over_bytes:
        told = f"snapshots still take {size(report.over_bytes)} more than snapshots_mb"
        lines.append((f"{told}; the rest is of sessions that have not ended, or of the last hour", "warn"))
    if not lines:
        lines = [("nothing to collect", "dim")]
    return [Span(printable(text) + "\n", style) for text, style in lines]


def _rest(verb: str, number: int) -> list[tuple[str, Style]]:
    return [(f"{verb} {number} more", "")] if number > 0 else []


def _sized(verb: str, report: CollectionReport) -> list[tuple[str, Style]]:
    lines: list[tuple[str, Style]] = []
    if report.artifacts:
        told = f"{verb} kept results of {counted(len(report.artifacts), 'session')}"
        lines.append((f"{told}: {size(report.artifact_bytes)}", ""))
    if report.snapshots:
        told = f"{verb} {counted(report.snapshots, 'snapshot')}"
        lines.append((f"{told}: {size(max(0, report.snapshot_bytes))}", ""))
    if report.store_bytes:
        lines.append((f"{verb} free pages of the store: {size(report.store_bytes)}", ""))
    return lines
