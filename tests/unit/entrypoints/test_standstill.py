"""Why a session stands still, and what would move it."""

from __future__ import annotations

import os
from typing import Any

import pytest

from nonoka.entrypoints.cli.standstill import Workers, standstill
from nonoka.records.commit import LostClaim, SessionDetail
from nonoka.records.event import Event, EventType
from nonoka.records.runtime import SessionRuntimeState, Termination
from nonoka.records.session import SessionIndex, SessionState, SessionStatus
from nonoka.records.signal import Signal, SignalKind
from nonoka.records.task import Liveness, Task, TaskStatus, Worker
from tests.support.sessions import a_worker

NOW = 100_000
INDEX = SessionIndex(
    session_id="s", title="t", working_dir="/w", agent="default", model="openai:m", created_at=0, last_active=0
)
WORKING = Workers({a_worker("w1"): Liveness.ALIVE})


def task(status: TaskStatus = TaskStatus.READY, **fields: Any) -> Task:
    return Task(task_id="s/turn:1", session_id="s", kind="turn", key="turn:1", status=status, **fields)


HELD = task(TaskStatus.RUNNING, lease_owner="w1", attempt=2)


def signal(kind: SignalKind, payload: dict[str, Any] | None = None) -> Signal:
    return Signal(session_id="s", seq=1, kind=kind, payload=payload or {}, created_at=NOW - 7_000)


def told(
    *tasks: Task,
    workers: Workers = WORKING,
    signals: tuple[Signal, ...] = (),
    events: tuple[Event, ...] = (),
    status: SessionStatus = SessionStatus.RUNNING,
    ended: Termination | None = None,
) -> str:
    runtime = SessionRuntimeState(termination=ended)
    state = SessionState(session_id="s", start_time=0, status=status, runtime_state=runtime)
    detail = SessionDetail(
        index=INDEX, state=state, tasks=tasks, calls=(), updates=(), events=events, signals=signals
    )
    return "\n".join(standstill(detail, workers, NOW))


def test_a_ready_session_waits_for_a_worker_and_without_one_says_how_to_start_it() -> None:
    ready = task(not_before=NOW - 5_000)
    assert told(ready) == "turn:1: waits for a worker, 5 s so far"
    alone = told(ready) + "; none is running: nonoka worker, or nonoka sessions resume s --here"
    assert told(ready, workers=Workers()) == alone
    assert told(ready, workers=Workers({a_worker("w1"): Liveness.DEAD})) == alone


def test_a_session_that_waits_for_another_try_says_why_the_last_one_failed() -> None:
    data = {"error_type": "rate_limited", "message": "slow\ndown"}
    retried = Event(session_id="s", seq=1, at=0, type=EventType.TURN_RETRIED, data=data)
    assert told(task(not_before=NOW + 12_000, retries=2), events=(retried,)) == (
        "turn:1: waits 12 s for another try (2 failures so far; the last: rate limited: slow down); "
        "at once: nonoka sessions resume s"
    )


def test_who_has_it_is_told_and_if_he_died_what_releases_it() -> None:
    assert told(HELD) == "turn:1: worker w1 has it (attempt 2)"
    dead = {a_worker("w1"): Liveness.DEAD}
    pid = next(iter(dead)).pid
    died = f"turn:1: its worker (pid {pid}) died, seen 1 min ago; "
    assert told(HELD, workers=Workers(dead)) == died + "nonoka sweep releases it"
    working = {**dead, a_worker("w2"): Liveness.ALIVE}
    assert told(HELD, workers=Workers(working)) == died + "a running worker releases it by itself"


def test_a_lost_claim_of_a_frozen_process_says_who_can_end_it() -> None:
    owner = a_worker("w1").model_copy(
        update={"pid_namespace": os.readlink("/proc/self/ns/pid"), "uid": os.getuid()}
    )
    lost = LostClaim(task=HELD, owner=owner, owner_leases_run_out=True)
    frozen: dict[Worker, Liveness] = {owner: Liveness.ALIVE}
    assert told(HELD, workers=Workers(frozen, [lost])) == (
        f"turn:1: s/turn:1 is held by pid {owner.pid}, which does nothing; "
        "nonoka sweep ends it and takes its work up"
    )


@pytest.mark.parametrize(
    ("unread", "heard"),
    [
        (signal(SignalKind.MESSAGE), "message, 7 s ago: heard after the calls in flight"),
        (signal(SignalKind.CANCEL), "cancel, 7 s ago: heard within 2 s"),
        (signal(SignalKind.PAUSE, {"now": "true"}), "pause, 7 s ago: heard within 2 s"),
        (
            signal(SignalKind.PAUSE),
            "pause, 7 s ago: heard after the call in flight; sooner: nonoka sessions pause s --now",
        ),
    ],
)
def test_what_is_in_the_inbox_is_told_with_when_it_is_heard(unread: Signal, heard: str) -> None:
    assert told(HELD, signals=(unread,)).endswith(f"\nin its inbox: {heard}")
    assert told(task(), signals=(unread,)).endswith(" ago: heard once a worker takes it up")


def test_a_paused_session_says_since_when_and_by_whom_and_keeps_its_messages() -> None:
    ended = Termination(reason="paused", at=NOW - 60_000)
    first, second = told(
        status=SessionStatus.PAUSED, ended=ended, signals=(signal(SignalKind.MESSAGE),)
    ).splitlines()
    assert first.startswith("paused since ")
    assert first.endswith(
        "(1 min ago): somebody asked for it (sessions pause, Ctrl-C in nonoka run, or a program)"
    )
    assert second == "in its inbox: message, 7 s ago: read after: nonoka sessions resume s"


def test_a_session_at_rest_waits_for_nothing() -> None:
    assert told(task(TaskStatus.DONE), status=SessionStatus.COMPLETED) == ""
