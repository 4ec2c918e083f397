"""A campaign of random kills: sessions come in on the real supervisor's workers, which are killed all the time.

The crash tests run a small one, ``benchmarks/random_kills.py`` the whole of it.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from dataclasses import dataclass, field

from nonoka.decisions.conversation_rules import first_fault
from nonoka.records.event import EventType
from nonoka.records.memory import MemoryRole
from nonoka.records.session import SessionStatus
from tests.support.oracle import Ran
from tests.support.project import Project, children

#: Sessions that are there before the first kill; the others come in evenly between the kills.
FIRST_SESSIONS = 5
WORKERS = 3
#: Before each kill. Five in a row without a commit between them would rightly fail a session; with a turn of
#: 0.2 s that is left to less than one chance in a hundred.
PAUSE_S = (0.3, 1.0)


@dataclass(slots=True)
class Campaign:
    """What came of it. ``lost`` says of each session that isn't whole what is wrong with it.

    ``repeated`` are the attempts that began after their call's result was seen to be committed. ``releases``
    is how often a kill met a session's turn, ``in_doubt`` how many calls ran again because of it.
    """

    sessions: int
    kills: int
    lost: list[str] = field(default_factory=list)
    repeated: list[Ran] = field(default_factory=list)
    releases: int = 0
    in_doubt: int = 0


async def campaign(project: Project, chance: random.Random, *, sessions: int, kills: int, turns: int) -> Campaign:
    """So many kills over so many sessions of so many turns; returns once all are at rest."""
    script = turns_of(turns)
    created = [await project.create(script) for _ in range(FIRST_SESSIONS)]
    committed: list[tuple[int, set[str]]] = []
    with project.supervisor(processes=WORKERS) as supervisor:
        for kill in range(1, kills + 1):
            while len(created) < FIRST_SESSIONS + (sessions - FIRST_SESSIONS) * kill // kills:
                created.append(await project.create(script))
            await asyncio.sleep(chance.uniform(*PAUSE_S))
            await project.until(lambda: bool(children(supervisor.pid)), "there is a worker to kill")
            os.kill(chance.choice(children(supervisor.pid)), signal.SIGKILL)
            keys = await _keys_of_results(project, created)
            committed.append((len(project.oracle.ran()), keys))
        await project.until(lambda: not {"created", "running"} & set(project.statuses()), "all are at rest", 80)
    found = Campaign(sessions=sessions, kills=kills, repeated=_ran_again(project.oracle.ran(), committed))
    for session_id in created:
        await _judge(project, session_id, turns, found)
    built = Counter((project.workspace / "built.log").read_text().splitlines())
    once = {f"part {turn}": len(created) for turn in range(1, turns)}
    if built != once:
        found.lost.append(f"commands took effect {dict(built)} times, not {once}")
    return found


def turns_of(count: int) -> list[dict[str, object]]:
    """A script of so many turns; the model thinks long enough for kills to meet it."""
    asking: list[dict[str, object]] = [
        {
            "delay_s": 0.15,
            "tool_calls": [
                {"name": "look", "args": {"place": f"room {turn}"}},
                {"name": "look", "args": {"place": "hall"}},
                {"name": "build", "args": {"target": f"part {turn}"}},
                {"name": "pay", "args": {"amount": turn}},
            ],
        }
        for turn in range(1, count)
    ]
    return [*asking, {"text": "All done.", "delay_s": 0.15}]


async def _judge(project: Project, session_id: str, turns: int, found: Campaign) -> None:
    detail = await project.detail(session_id)
    entries, ran = detail.state.memory_entries, project.oracle.ran(session_id)
    calls = {f"call_{turn}_{place}" for turn in range(1, turns) for place in range(4)}
    attempts = {(one.tool_call_id, one.attempt) for one in ran}
    answers = sum(entry.role is MemoryRole.ASSISTANT for entry in entries)
    wrong = {
        f"is {detail.state.status}: {detail.state.runtime_state.termination}": (
            detail.state.status is not SessionStatus.COMPLETED
        ),
        f"can't be sent: {first_fault(entries)}": first_fault(entries) is not None,
        f"has {answers} answers": answers != turns,
        "has other calls than the model asked for": {one.tool_call_id for one in ran} != calls,
        "ran an attempt twice": len(attempts) != len(ran),
        "ran a call beside processes of an earlier attempt": any(one.left_over for one in ran),
    }
    found.lost += [f"{session_id} {what}" for what, is_so in wrong.items() if is_so]
    found.releases += sum(event.type is EventType.TURN_RELEASED for event in detail.events)
    found.in_doubt += len(ran) - len(calls)
    await project.until(lambda: not project.left_over(session_id), "no process of its calls lives")


async def _keys_of_results(project: Project, sessions: list[str]) -> set[str]:
    """The idempotency keys of all calls whose result is committed."""
    async with project.store() as store:
        return {
            f"{session_id}:{entry.tool_call_id.removeprefix('call_').replace('_', ':')}"
            for session_id in sessions
            for entry in await store.conversation(session_id)
            if entry.tool_call_id
        }


def _ran_again(ran: list[Ran], committed: list[tuple[int, set[str]]]) -> list[Ran]:
    return [one for lines, keys in committed for one in ran[lines:] if one.idempotency_key in keys]
