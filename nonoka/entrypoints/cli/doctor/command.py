"""``nonoka doctor``: runs the checks and shows what they found."""

from __future__ import annotations

import asyncio

import click

from nonoka.app import open_ports, store_condition
from nonoka.entrypoints.cli.doctor.finding import Finding, contract, lines, well
from nonoka.entrypoints.cli.doctor.machine import machine
from nonoka.entrypoints.cli.doctor.rules import rules
from nonoka.entrypoints.cli.doctor.setup import setup
from nonoka.entrypoints.cli.doctor.space import space
from nonoka.entrypoints.cli.doctor.store import store
from nonoka.entrypoints.cli.doctor.work import work
from nonoka.entrypoints.cli.failures import FAILED
from nonoka.entrypoints.cli.json_output import write_json
from nonoka.entrypoints.cli.options import with_settings
from nonoka.entrypoints.cli.screen import screen
from nonoka.errors import NonokaError, UsageError
from nonoka.settings import Settings


@click.command("doctor", short_help="Say what is wrong with this set-up, and the remedy.")
@click.option("--ask", is_flag=True, help="Ask the model one short question; else it is not called.")
@click.option("--check-store", is_flag=True, help="Test every rule of the store, with one query each.")
@click.option("--repair", is_flag=True, help="With --check-store: repair what can be, and say what was done.")
@click.option("--json", "as_json", is_flag=True, help="The findings as JSON (docs/cli.md).")
@with_settings(of_new_sessions=("model", "agent"))
def command(*, settings: Settings, ask: bool, check_store: bool, repair: bool, as_json: bool) -> int:
    """Check this set-up: Python, SQLite, git, the store, the agent, the model; and say who works on the sessions
    and what they wait for.

    Whatever is wrong comes with its remedy. No store is made, and no session is changed but by --repair: that
    gives a task to a session that lost its own, closes tasks that wait for nothing, and the like. It may be used
    while workers run; what they work on is left alone.

    \b
      nonoka doctor
      nonoka doctor --ask --model openai:gpt-4o-mini
      nonoka doctor --check-store --repair

    Exit status: 0 all is well (a line "note" is no fault), 1 something is wrong.
    """
    if repair and not check_store:
        raise UsageError("--repair goes with --check-store, which says what there is to repair")
    findings = asyncio.run(_findings(settings, ask=ask, check=check_store, repair=repair))
    if as_json:
        write_json(contract(findings), indent=2)
    else:
        screen().write(lines(findings))
    return 0 if well(findings) else FAILED


async def _findings(settings: Settings, *, ask: bool, check: bool, repair: bool) -> list[Finding]:
    condition = store_condition(settings)
    findings = [*machine(settings), *store(condition), *await setup(settings, ask=ask)]
    if condition.trouble is None and condition.schema_version == condition.known_schema:
        findings += await _inside(settings)
    if check and condition.exists:
        findings += await rules(settings, repair=repair)
    return findings


async def _inside(settings: Settings) -> list[Finding]:
    try:
        async with open_ports(settings) as ports:
            return [*await work(ports), *await space(ports)]
    except NonokaError as error:
        return [Finding("store", "wrong", str(error), "nonoka doctor --debug")]
