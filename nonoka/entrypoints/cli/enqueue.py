"""``nonoka enqueue``: new sessions for the workers."""

from __future__ import annotations

import asyncio
import sys

import click

from nonoka.agents.plain_value import clean_text
from nonoka.app import open_ports, request_for
from nonoka.engine import accept, accept_plan
from nonoka.engine.accept import SessionRequest
from nonoka.engine.ports import Ports
from nonoka.entrypoints.cli.failures import named, say
from nonoka.entrypoints.cli.options import OF_NEW_SESSIONS, with_settings
from nonoka.entrypoints.cli.plan.options import PlanChoice, with_plan
from nonoka.entrypoints.cli.prompts import prompt_text, prompts_in
from nonoka.entrypoints.cli.reader import Reader
from nonoka.entrypoints.cli.screen import Span, screen
from nonoka.entrypoints.cli.statuses import exit_status, gravest, say_if_nobody_works
from nonoka.entrypoints.cli.summary import STATUS_STYLE, say_why_not_done, write_answer
from nonoka.errors import UsageError
from nonoka.settings import Settings


@click.command("enqueue", short_help="Store a session for the workers; print its id.")
@click.argument("prompt", metavar="[PROMPT|-]", required=False)
@with_plan
@click.option("--file", "file", metavar="FILE", help="One session for each line of FILE (- reads stdin).")
@click.option("--key", metavar="KEY", help="If a session was enqueued with KEY before, print its id instead.")
@click.option("--wait", is_flag=True, help="Wait until it ends or pauses, and print the final answer.")
@with_settings(of_new_sessions=OF_NEW_SESSIONS)
@click.pass_context
def command(
    context: click.Context,
    *,
    settings: Settings,
    prompt: str | None,
    plan: PlanChoice | None,
    file: str | None,
    key: str | None,
    wait: bool,
) -> int:
    """Store a session with PROMPT (- reads stdin) for the workers, and print its id alone on stdout.

    Once the id is printed nothing is lost. Workers (nonoka worker) need neither model nor limits: they are
    stored with the session. An agent that can't be imported from here is refused.

    With --key it can be repeated safely: as long as there is a session of that key, its id is printed and
    nothing is stored, whatever the prompt and however many ask at once. With --file each line that isn't blank
    is the prompt of a session of its own; all are checked before the first is stored, and the ids come one a
    line in the order of the file.

    \b
      id=$(nonoka enqueue --model openai:gpt-4o-mini "Summarise CHANGELOG.md")
      nonoka sessions watch "$id"
      nonoka enqueue --key "report-$(date +%F)" "Write the report of today"
      nonoka enqueue --plan release.yaml --input since=v1.2
      ls *.py | sed 's/^/Review /' | nonoka enqueue --file - --wait

    With --wait the answer follows on stdout; of several sessions each under a line with its id and status.

    Exit status: 0 stored; with --wait as of nonoka run (0 answered, 1 failed or cancelled, 3 paused), of several
    the gravest: 1, then 3.
    """
    if sum(given is not None for given in (prompt, file, plan)) != 1:
        raise click.UsageError("give it one of PROMPT and --file, or --plan", context)
    if file is not None and key is not None:
        raise click.UsageError("--key names one session: it can't go with --file", context)
    if key is not None and not key.strip():
        raise UsageError("the key is empty; give it a name, such as report-2026-01-31")
    named = clean_text(key) if key is not None else None
    if plan is not None:
        return asyncio.run(_enqueue_plan(settings, plan, key=named, wait=wait))
    prompts = prompts_in(file) if file is not None else [prompt_text(prompt or "")]
    return asyncio.run(_enqueue(settings, prompts, key=named, wait=wait))


async def _enqueue(settings: Settings, prompts: list[str], *, key: str | None, wait: bool) -> int:
    async with open_ports(settings) as ports:
        like = request_for(ports, settings, prompts[0]).model_copy(update={"enqueue_key": key})
        made = [await _stored(ports, like.model_copy(update={"prompt": prompt})) for prompt in prompts]
        if not wait:
            return 0
        await say_if_nobody_works(ports.store)
        return gravest([await _answered(ports, session_id, named=len(made) > 1) for session_id in made])


async def _enqueue_plan(settings: Settings, choice: PlanChoice, *, key: str | None, wait: bool) -> int:
    from nonoka.app import plan_request_for
    from nonoka.entrypoints.cli.plan.reading import checked_plan

    plan, inputs = checked_plan(choice.file, settings), choice.inputs()
    async with open_ports(settings) as ports:
        request = plan_request_for(ports, settings, plan, inputs=inputs, texts=choice.texts, file=choice.file)
        request = request.model_copy(update={"enqueue_key": key})
        session_id, _ = await accept_plan.create_plan_session(ports.store, ports.clock, request)
        _tell(session_id)
        if not wait:
            return 0
        await say_if_nobody_works(ports.store)
        return await _answered(ports, session_id, named=False)


async def _stored(ports: Ports, request: SessionRequest) -> str:
    session_id, _ = await accept.create_session(ports.store, ports.clock, request, worktrees=ports.worktrees)
    _tell(session_id)
    return session_id


def _tell(session_id: str) -> None:
    try:
        sys.stdout.write(f"{session_id}\n")
        sys.stdout.flush()
    except OSError as error:
        # Who started this doesn't get the id, and must not take the session for one that isn't there.
        say(f"nonoka: stored {session_id}, but stdout takes no id: {named(error)}; see: nonoka sessions list")
        raise


async def _answered(ports: Ports, session_id: str, *, named: bool) -> int:
    await Reader(ports.store, ports.clock, session_id, lambda event: None).read()
    detail = await ports.store.detail(session_id)
    state = detail.state
    if named:
        status = state.status
        screen().write(
            [Span(f"{session_id} "), Span(status.value, STATUS_STYLE.get(status, "strong")), Span("\n")]
        )
    write_answer(detail)
    say_why_not_done(state)
    return exit_status(state.status)
