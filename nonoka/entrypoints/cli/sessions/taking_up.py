"""A signal that takes sessions up again, and then either a worker or this process: resume and retry."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from nonoka.app import open_store
from nonoka.decisions.plan_fault import nearest
from nonoka.entrypoints.cli.display import Display
from nonoka.entrypoints.cli.failures import FAILED, say
from nonoka.entrypoints.cli.here import work_here
from nonoka.entrypoints.cli.interrupts import Interrupts
from nonoka.entrypoints.cli.run import check_workable
from nonoka.entrypoints.cli.sessions.choosing import AppliesTo, Choice, chosen
from nonoka.entrypoints.cli.sessions.each import each, tell_none
from nonoka.entrypoints.cli.stores import must_exist
from nonoka.errors import UsageError
from nonoka.ports.store import Store
from nonoka.records.commit import NewSignal, SessionDetail, Standing
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.task import TaskStatus
from nonoka.runner import Runner
from nonoka.settings import Settings

#: What else the signal says.
Payload = Mapping[str, str]
NOTHING: Payload = {}


class Refuse(Protocol):
    """Raises UsageError where a session of this status can't be taken up so."""

    def __call__(self, session_id: str, status: SessionStatus, *, at_rest: bool, plan: bool) -> None: ...


def take_up(
    settings: Settings,
    choice: Choice,
    kind: SignalKind,
    refuse: Refuse,
    *,
    here: bool,
    payload: Payload = NOTHING,
) -> int:
    """The sessions are signalled and go on, at a worker; or one of them here. Returns the exit status."""
    if here:
        if len(choice.ids) != 1:
            raise UsageError("--here works on one session: name its ID alone, or leave the rest to nonoka worker")
        must_exist(settings, choice.ids[0])
        return asyncio.run(_here(settings, choice.ids[0], kind, refuse, payload))
    only = SessionStatus.FAILED if kind is SignalKind.RETRY else SessionStatus.PAUSED
    wanted = chosen(settings, choice, AppliesTo(kind.value, (only,)))
    if wanted is None:
        return FAILED
    return asyncio.run(_signal_each(settings, wanted, kind, refuse, payload)) if wanted else tell_none(kind.value)


async def _signal_each(
    settings: Settings, wanted: Sequence[str], kind: SignalKind, refuse: Refuse, payload: Payload
) -> int:
    async with open_store(settings) as (store, _):
        return await each(wanted, lambda one: _signal(store, one, kind, refuse, payload))


async def _signal(store: Store, wanted: str, kind: SignalKind, refuse: Refuse, payload: Payload) -> str:
    index = await store.find_session(wanted)
    session_id = index.session_id
    before = await store.standing(session_id)
    if kind is SignalKind.RETRY and before.status is SessionStatus.FAILED and not before.at_rest:
        return f"{session_id} is being taken up again already; see: nonoka sessions watch {session_id}"
    refuse(session_id, before.status, at_rest=before.at_rest, plan=index.kind == "plan")
    await check_step(store, session_id, payload)
    await store.add_signal(session_id, NewSignal(kind=kind, payload=dict(payload)))
    return _told(session_id, before)


async def _here(settings: Settings, wanted: str, kind: SignalKind, refuse: Refuse, payload: Payload) -> int:
    async with Runner(settings=settings, own_process=True) as runner:
        store = runner.ports.store
        index = await store.find_session(wanted)
        before = await store.detail(index.session_id)
        standing = await store.standing(index.session_id)
        refuse(index.session_id, standing.status, at_rest=standing.at_rest, plan=index.kind == "plan")
        check_workable(runner, index)
        await check_step(store, index.session_id, payload)
        with Interrupts() as interrupts:
            await store.add_signal(index.session_id, NewSignal(kind=kind, payload=dict(payload)))
            say(index.session_id)
            return await work_here(runner, index.session_id, interrupts, _display(before), before=before.events)


async def check_step(store: Store, session_id: str, payload: Payload) -> None:
    """Raise UsageError where the session has no plan with the step that is named in ``from``."""
    step = payload.get("from")
    if step is None:
        return
    plan = (await store.detail(session_id)).plan
    if plan is None:
        raise UsageError(f"session {session_id} runs no plan: --from can't be used with it")
    names = [each.id for each in (*plan.plan.steps, *plan.plan.finally_steps)]
    if step not in names:
        raise UsageError(f"the plan {plan.plan.name!r} has no step {step!r}{nearest(step, names)}")


def _display(before: SessionDetail) -> Display:
    if before.plan is None:
        return Display()
    from nonoka.entrypoints.cli.plan.live import plan_display

    return plan_display(before.plan.plan, before.plan.runs)


def _told(session_id: str, before: Standing) -> str:
    here = f"nonoka sessions resume {session_id} --here"
    if before.status in (SessionStatus.PAUSED, SessionStatus.FAILED):
        return f"resumed {session_id}: a worker takes it up (nonoka worker), or work on it here: {here}"
    held = any(task.status is TaskStatus.RUNNING for task in before.live_tasks)
    who = (
        f"a worker has it; see: nonoka sessions watch {session_id}"
        if held
        else f"a worker takes it up, or: {here}"
    )
    return f"{session_id} was not paused: {who}; a pause under way is taken back"
