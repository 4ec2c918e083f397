"""What is in the store: sessions, who works on them, and what waits for whom."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nonoka.entrypoints.cli.doctor.finding import Finding
from nonoka.entrypoints.cli.figures import age, counted, seconds, shortened
from nonoka.records.commit import LostClaim, ReadyTask
from nonoka.records.session import SessionStatus
from nonoka.records.task import Liveness, Worker

if TYPE_CHECKING:
    from nonoka.engine.ports import Ports

#: So many of one kind are named, and so many are looked at.
NAMED = 3
LOOKED_AT = 1_000


async def work(ports: Ports) -> list[Finding]:
    """What was found of it; nothing is changed."""
    workers = {worker: ports.processes.liveness(worker) for worker in await ports.store.workers()}
    claims = await ports.store.running_claims()
    ready = await ports.store.ready_tasks(limit=LOOKED_AT)
    now = ports.clock.now_ms()
    return [
        await _sessions(ports),
        *of_workers(workers, claims, now),
        *of_lost_claims(workers, claims),
        *_due([one for one in ready if one.task.not_before <= now], workers, now),
        *(_delayed(one, now) for one in ready[:LOOKED_AT] if one.task.not_before > now),
        *await _paused(ports),
    ]


async def _sessions(ports: Ports) -> Finding:
    counts = await ports.store.count_sessions()
    told = ", ".join(f"{counts[status]} {status}" for status in SessionStatus if status in counts)
    return Finding("sessions", "ok", told or "none yet")


def of_workers(workers: dict[Worker, Liveness], claims: Sequence[LostClaim], now: int) -> list[Finding]:
    """Who lives, who died and left something behind, and of whom it can't be told."""
    alive = [worker for worker, liveness in workers.items() if liveness is Liveness.ALIVE]
    told = ", ".join(f"pid {worker.pid} ({worker.kind}, {age(now - worker.started_at)})" for worker in alive)
    findings = [Finding("workers", "ok", told or "none is running")]
    held = [claim.task.lease_owner for claim in claims]
    for worker, liveness in workers.items():
        if liveness is Liveness.DEAD:
            holds = counted(held.count(worker.worker_id), "turn")
            told = f"pid {worker.pid} died {age(now - worker.seen_at)} ago and still holds {holds}"
            findings.append(
                Finding("worker", "wrong", told, "nonoka sweep (a running worker does that by itself)")
            )
        elif liveness is Liveness.UNKNOWN:
            told = f"pid {worker.pid} of another container or user was seen {age(now - worker.seen_at)} ago"
            findings.append(Finding("worker", "note", told))
    return findings


def of_lost_claims(workers: dict[Worker, Liveness], claims: Sequence[LostClaim]) -> list[Finding]:
    """What is held by somebody who isn't dead, but does nothing: who can end that, and how."""
    lost = [claim for claim in claims if claim.owner_leases_run_out]
    return [_frozen(c, c.owner) for c in lost if c.owner is None or workers.get(c.owner) is not Liveness.DEAD]


def _frozen(claim: LostClaim, owner: Worker | None) -> Finding:
    session = f"nonoka sessions show {claim.task.session_id}"
    if owner is None:
        return Finding("claim", "wrong", f"{claim.task.task_id} is held by nobody", f"nonoka sweep; {session}")
    told = f"{claim.task.task_id} is held by pid {owner.pid}, which does nothing"
    if owner.pid_namespace != _own_namespace():
        return Finding("claim", "wrong", f"{told}, in another container", f"end it there; {session}")
    if os.getuid() not in (0, owner.uid):
        return Finding("claim", "wrong", f"{told}, of user {owner.uid}", f"end it as that user; {session}")
    return Finding("claim", "wrong", told, "nonoka sweep ends it and takes its work up")


def _due(due: Sequence[ReadyTask], workers: dict[Worker, Liveness], now: int) -> list[Finding]:
    if not due:
        return []
    most = "at least " if len(due) == LOOKED_AT else ""
    told = f"{most}{counted(len(due), 'session')} waited {age(now - due[0].task.not_before)} for a worker"
    if any(liveness is not Liveness.DEAD and worker.kind == "worker" for worker, liveness in workers.items()):
        return [Finding("waiting", "ok", told)]
    return [Finding("waiting", "wrong", told, "nonoka worker")]


def _delayed(one: ReadyTask, now: int) -> Finding:
    why = f": {one.error_type.replace('_', ' ')}: {shortened(one.message or '', 120)}" if one.error_type else ""
    told = f"{one.task.session_id} waits {seconds(one.task.not_before - now)} for another try{why}"
    return Finding("retry", "note", told)


async def _paused(ports: Ports) -> list[Finding]:
    lines = await ports.store.list_sessions(limit=LOOKED_AT)
    paused = [line.index for line in lines if line.status == SessionStatus.PAUSED]
    findings = [
        Finding(
            "paused", "note", f"{index.session_id} {index.title}", f"nonoka sessions resume {index.session_id}"
        )
        for index in paused[:NAMED]
    ]
    if len(paused) > NAMED:
        findings.append(Finding("paused", "note", f"and {len(paused) - NAMED} more", "nonoka sessions list"))
    return findings


def _own_namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
