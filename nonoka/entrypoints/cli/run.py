"""``nonoka run``: a new session, or the next prompt of one, worked on here."""

from __future__ import annotations

import asyncio

import click

from nonoka.engine import accept
from nonoka.engine.accept_plan import NO_MODEL
from nonoka.entrypoints.cli.display import Display
from nonoka.entrypoints.cli.failures import say
from nonoka.entrypoints.cli.here import work_here
from nonoka.entrypoints.cli.interrupts import Interrupts
from nonoka.entrypoints.cli.options import OF_NEW_SESSIONS, given_for_new_sessions, with_settings
from nonoka.entrypoints.cli.plan.options import PlanChoice, with_plan
from nonoka.entrypoints.cli.prompts import prompt_text
from nonoka.entrypoints.cli.session_ids import known
from nonoka.entrypoints.cli.stores import must_exist
from nonoka.errors import UsageError
from nonoka.records.session import SessionIndex, SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.runner import Runner
from nonoka.settings import Settings


@click.command("run", short_help="Start a session and work on it here.")
@click.argument("prompt", metavar="[PROMPT|-]", required=False)
@with_plan
@click.option(
    "--session",
    "wanted",
    metavar="ID",
    shell_complete=known,
    help="Give this session its next prompt, with its own agent.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="One event a line; the last line is as sessions show --json."
)
@click.option("--quiet", "-q", is_flag=True, help="Only the final answer on stdout.")
@click.option("--verbose", "-v", is_flag=True, help="Also where turns begin and end.")
@with_settings(of_new_sessions=OF_NEW_SESSIONS)
@click.pass_context
def command(
    context: click.Context,
    *,
    settings: Settings,
    prompt: str | None,
    plan: PlanChoice | None,
    wanted: str | None,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Start a session with PROMPT (- reads stdin) and work on it here until it ends or pauses.

    The id is printed first, on stderr, as soon as the session is stored: from there on nothing is lost.
    Ctrl-C pauses it where it stands and says how to go on; a second one leaves at once.

    \b
      nonoka run "Why does tests/test_io.py fail?"
      nonoka run --session 3f2a "Now mend it."
      git diff | nonoka run -q - > review.txt
      nonoka run --plan release.yaml --input since=v1.2

    With --plan the session runs the steps of a plan file instead; its result is the plan's outputs, as JSON.

    Exit status: 0 answered, 1 failed or cancelled, 2 usage, 3 paused, 130 interrupted, 143 terminated (handed
    back to the workers).
    """
    if as_json and quiet:
        raise click.UsageError("--json and --quiet exclude each other", context)
    if prompt is None and plan is None:
        raise click.UsageError("Missing argument 'PROMPT|-'; or name a plan: --plan FILE", context)
    if prompt is not None and plan is not None:
        raise click.UsageError("give it one of PROMPT and --plan", context)
    if wanted is not None and plan is not None:
        raise click.UsageError("--session gives a conversation its next prompt: --plan can't go with it", context)
    if wanted is not None:
        must_exist(settings, wanted)
        if given := given_for_new_sessions(context):
            raise UsageError(f"{given[0]} is for new sessions: one that exists keeps its model, agent and limits")
    display = Display(as_json=as_json, quiet=quiet, verbose=verbose)
    if plan is not None:
        return asyncio.run(_plan(settings, plan, None if as_json or quiet else verbose, display))
    text = prompt_text(prompt or "")
    return asyncio.run(_new(settings, text, display) if wanted is None else _next(settings, wanted, text, display))


async def _new(settings: Settings, prompt: str, display: Display) -> int:
    async with Runner(settings=settings, own_process=True) as runner:
        with Interrupts() as interrupts:
            session_id, claimed = await runner.create(None, prompt)
            say(session_id)
            return await work_here(runner, session_id, interrupts, display, claimed=claimed)


async def _plan(settings: Settings, choice: PlanChoice, verbose: bool | None, display: Display) -> int:
    from nonoka.entrypoints.cli.plan.live import plan_display
    from nonoka.entrypoints.cli.plan.reading import checked_plan

    plan, inputs = checked_plan(choice.file, settings), choice.inputs()
    if verbose is not None:
        display = plan_display(plan, verbose=verbose)
    async with Runner(settings=settings, own_process=True) as runner:
        with Interrupts() as interrupts:
            session_id, claimed = await runner.create_plan(plan, inputs, texts=choice.texts, file=choice.file)
            say(session_id)
            return await work_here(runner, session_id, interrupts, display, claimed=claimed)


async def _next(settings: Settings, wanted: str, prompt: str, display: Display) -> int:
    async with Runner(settings=settings, own_process=True) as runner:
        store = runner.ports.store
        index = await store.find_session(wanted)
        if index.kind == "plan":
            raise UsageError(f"session {index.session_id} runs a plan: it takes no prompt; start another one")
        check_workable(runner, index)
        before = await store.detail(index.session_id)
        with Interrupts() as interrupts:
            await accept.send_message(store, index.session_id, prompt)
            if before.state.status is SessionStatus.PAUSED:
                await accept.send_signal(store, index.session_id, SignalKind.RESUME)
            say(index.session_id)
            return await work_here(runner, index.session_id, interrupts, display, before=before.events)


def check_workable(runner: Runner, index: SessionIndex) -> None:
    """Raise UsageError where this process could not work on the session: its model, or its agent."""
    if index.model != NO_MODEL:
        runner.ports.models.check(index.model)
    runner.ports.agents.load(index.agent)
