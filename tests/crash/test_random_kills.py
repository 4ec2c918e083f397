"""Sessions come in on the workers of the real supervisor while those are killed at random moments."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter

import pytest

from nonoka.decisions.conversation_rules import first_fault
from nonoka.records.event import EventType
from nonoka.records.memory import MemoryRole
from tests.support.oracle import Ran
from tests.support.project import Project, children

#: before the first kill, and with each kill one more
SESSIONS = 5
KILLS = 20
WORKERS = 3
#: Before each kill. Five in a row without a commit between them would rightly fail a session; with a turn of
#: 0.2 s that is left to less than one chance in a hundred.
PAUSE_S = (0.3, 1.0)
#: six turns; the model thinks long enough for kills to meet it
TURNS: list[dict[str, object]] = [
    {
        "delay_s": 0.15,
        "tool_calls": [
            {"name": "look", "args": {"place": f"room {turn}"}},
            {"name": "look", "args": {"place": "hall"}},
            {"name": "build", "args": {"target": f"part {turn}"}},
            {"name": "pay", "args": {"amount": turn}},
        ],
    }
    for turn in range(1, 6)
] + [{"text": "All done.", "delay_s": 0.15}]
CALLS = {f"call_{turn}_{place}" for turn in range(1, 6) for place in range(4)}


@pytest.mark.parametrize("seed", [20261201])
async def test_all_sessions_complete_whatever_is_killed(project: Project, seed: int) -> None:
    """By the oracle no call ran again once its result was committed, and no attempt ran twice."""
    chance = random.Random(seed)
    print(f"seed {seed}")
    sessions = [await project.create(TURNS) for _ in range(SESSIONS)]
    committed: list[tuple[int, set[str]]] = []
    with project.supervisor(processes=WORKERS) as supervisor:
        for _ in range(KILLS):
            sessions.append(await project.create(TURNS))
            await asyncio.sleep(chance.uniform(*PAUSE_S))
            await project.until(lambda: bool(children(supervisor.pid)), "there is a worker to kill")
            os.kill(chance.choice(children(supervisor.pid)), signal.SIGKILL)
            keys = await keys_of_results(project, sessions)
            committed.append((len(project.oracle.ran()), keys))
        await project.until(lambda: not {"created", "running"} & set(project.statuses()), "all are at rest", 80)
    assert ran_again(project.oracle.ran(), committed) == []
    built = (project.workspace / "built.log").read_text().splitlines()
    assert Counter(built) == {f"part {turn}": len(sessions) for turn in range(1, 6)}, "a command took effect twice"
    releases = sum([await releases_of_whole(project, session_id) for session_id in sessions])
    assert releases >= KILLS // 4, "the kills met hardly any work"


async def releases_of_whole(project: Project, session_id: str) -> int:
    """The session is as it must be; how often a worker was lost on it."""
    detail = await project.detail(session_id)
    entries = detail.state.memory_entries
    assert detail.state.status == "completed", detail.state.runtime_state.termination
    assert first_fault(entries) is None
    assert sum(entry.role is MemoryRole.ASSISTANT for entry in entries) == len(TURNS)
    ran = project.oracle.ran(session_id)
    assert {one.tool_call_id for one in ran} == CALLS
    assert len({(one.tool_call_id, one.attempt) for one in ran}) == len(ran)
    assert [one for one in ran if one.left_over] == []
    await project.until(lambda: not project.left_over(session_id), "no process of its calls lives")
    return sum(event.type is EventType.TURN_RELEASED for event in detail.events)


async def keys_of_results(project: Project, sessions: list[str]) -> set[str]:
    """The idempotency keys of all calls whose result is committed."""
    async with project.store() as store:
        return {
            f"{session_id}:{entry.tool_call_id.removeprefix('call_').replace('_', ':')}"
            for session_id in sessions
            for entry in await store.conversation(session_id)
            if entry.tool_call_id
        }


def ran_again(ran: list[Ran], committed: list[tuple[int, set[str]]]) -> list[Ran]:
    """The attempts that began after their call's result was seen to be committed."""
    return [one for lines, keys in committed for one in ran[lines:] if one.idempotency_key in keys]
