"""A signal that takes a session up again, and then either a worker or this process: resume and retry."""

from __future__ import annotations

import asyncio
from typing import Protocol

from nonoka.engine import accept
from nonoka.entrypoints.cli.failures import say
from nonoka.entrypoints.cli.here import Display, work_here
from nonoka.entrypoints.cli.interrupts import Interrupts
from nonoka.entrypoints.cli.run import check_workable
from nonoka.entrypoints.cli.screen import Span, screen
from nonoka.entrypoints.cli.stores import must_exist, opened_store
from nonoka.records.commit import Standing
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.task import TaskStatus
from nonoka.runner import Runner
from nonoka.settings import Settings


class Refuse(Protocol):
    """Raises UsageError where a session of this status can't be taken up so."""

    def __call__(self, session_id: str, status: SessionStatus, *, at_rest: bool) -> None: ...


def take_up(settings: Settings, wanted: str, kind: SignalKind, refuse: Refuse, *, here: bool) -> int:
    """The session is signalled and goes on, at a worker or here; returns the exit status."""
    must_exist(settings, wanted)
    return asyncio.run(_here(settings, wanted, kind, refuse) if here else _signal(settings, wanted, kind, refuse))


async def _signal(settings: Settings, wanted: str, kind: SignalKind, refuse: Refuse) -> int:
    async with opened_store(settings) as (store, _):
        session_id = (await store.find_session(wanted)).session_id
        before = await store.standing(session_id)
        refuse(session_id, before.status, at_rest=before.at_rest)
        await accept.send_signal(store, session_id, kind)
    screen().write([Span(_told(session_id, before) + "\n")])
    return 0


async def _here(settings: Settings, wanted: str, kind: SignalKind, refuse: Refuse) -> int:
    async with Runner(settings=settings) as runner:
        store = runner.ports.store
        index = await store.find_session(wanted)
        before = await store.detail(index.session_id)
        standing = await store.standing(index.session_id)
        refuse(index.session_id, standing.status, at_rest=standing.at_rest)
        check_workable(runner, index)
        with Interrupts() as interrupts:
            await accept.send_signal(store, index.session_id, kind)
            say(index.session_id)
            seq = before.events[-1].seq if before.events else 0
            return await work_here(runner, index.session_id, interrupts, Display(), after_seq=seq)


def _told(session_id: str, before: Standing) -> str:
    if before.status in (SessionStatus.PAUSED, SessionStatus.FAILED):
        return (
            f"resumed {session_id}: a worker takes it up (nonoka worker), or work on it here: "
            f"nonoka sessions resume {session_id} --here"
        )
    held = any(task.status is TaskStatus.RUNNING for task in before.live_tasks)
    who = "a worker has it" if held else f"a worker takes it up, or: nonoka sessions resume {session_id} --here"
    return f"{session_id} was not paused: {who}; a pause under way is taken back"
