"""What doctor says of workers, claims and files that no test machine has at hand."""

from __future__ import annotations

import os
from typing import Any

import pytest

from nonoka.entrypoints.cli.doctor.store import store
from nonoka.entrypoints.cli.doctor.work import of_lost_claims, of_workers
from nonoka.records.commit import LostClaim
from nonoka.records.condition import StoreCondition
from nonoka.records.task import Liveness, Task, TaskStatus, Worker
from tests.support.sessions import a_worker

HERE = os.readlink("/proc/self/ns/pid")


def a_claim(owner: Worker | None, *, run_out: bool = True) -> LostClaim:
    task = Task(
        task_id="s-1/turn:2",
        session_id="s-1",
        kind="turn",
        key="turn:2",
        status=TaskStatus.RUNNING,
        lease_owner=owner.worker_id if owner else "w0",
        lease_expires_at=0,
    )
    return LostClaim(task=task, owner=owner, owner_leases_run_out=run_out)


def a_worker_here(**of: Any) -> Worker:
    return a_worker().model_copy(update={"pid_namespace": HERE, "uid": os.getuid(), **of})


def test_a_dead_worker_that_holds_turns_is_told_with_the_sweep_that_frees_them() -> None:
    worker = a_worker_here()
    living, dead = of_workers({worker: Liveness.DEAD}, [a_claim(worker)], now=180_000)
    assert living.found == "none is running"
    assert (dead.state, dead.found) == ("wrong", "pid 4711 died 3 min ago and still holds 1 turn")
    assert dead.remedy is not None
    assert "nonoka sweep" in dead.remedy


def test_a_living_worker_is_told_with_what_it_is_and_its_age() -> None:
    (living,) = of_workers({a_worker_here(kind="run"): Liveness.ALIVE}, [], now=180_000)
    assert (living.state, living.found) == ("ok", "pid 4711 (run, 3 min)")


def test_a_worker_elsewhere_is_no_fault() -> None:
    _, elsewhere = of_workers({a_worker(): Liveness.UNKNOWN}, [], now=5_000)
    assert (elsewhere.state, elsewhere.remedy) == ("note", None)


@pytest.mark.parametrize(
    ("owner", "liveness", "remedy"),
    [
        (a_worker_here(), Liveness.ALIVE, "nonoka sweep ends it"),
        (a_worker_here(pid_namespace="pid:[1]"), Liveness.UNKNOWN, "end it there; nonoka sessions show s-1"),
        (None, Liveness.UNKNOWN, "nonoka sweep; nonoka sessions show s-1"),
    ],
)
def test_a_frozen_claim_says_who_can_end_it(owner: Worker | None, liveness: Liveness, remedy: str) -> None:
    workers = {owner: liveness} if owner is not None else {}
    (found,) = of_lost_claims(workers, [a_claim(owner)])
    assert (found.check, found.state) == ("claim", "wrong")
    assert found.remedy is not None
    assert remedy in found.remedy


def test_another_user_s_frozen_worker_is_left_to_that_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1_000)
    owner = a_worker_here(uid=1_001)
    (found,) = of_lost_claims({owner: Liveness.ALIVE}, [a_claim(owner)])
    assert "of user 1001" in found.found
    assert found.remedy is not None
    assert "as that user" in found.remedy


def test_a_claim_in_its_time_or_of_the_dead_is_no_frozen_one() -> None:
    """The dead are told of as workers."""
    worker = a_worker_here()
    assert of_lost_claims({worker: Liveness.ALIVE}, [a_claim(worker, run_out=False)]) == []
    assert of_lost_claims({worker: Liveness.DEAD}, [a_claim(worker)]) == []


def a_store(**of: Any) -> StoreCondition:
    plain = StoreCondition(path="/p/s.db", exists=True, filesystem="ext4", schema_version=2, known_schema=2)
    return plain.model_copy(update=of)


def test_a_sound_store_is_one_line() -> None:
    (found,) = store(a_store(size_bytes=12_340_000))
    assert (found.state, found.found) == ("ok", "/p/s.db on ext4, 12.3 MB, schema 2")


def test_an_older_store_is_left_alone_and_said_to_be_brought_up_to_date() -> None:
    _, older = store(a_store(schema_version=1))
    assert (older.check, older.state) == ("schema", "note")
    assert "schema 1 is older than this nonoka's 2" in older.found


def test_a_store_that_others_can_read_is_told_with_what_closes_it() -> None:
    _, access = store(a_store(others_may=True))
    assert (access.state, access.remedy) == ("wrong", "chmod 600 /p/s.db")


def test_the_trouble_of_a_store_is_parted_from_its_remedy() -> None:
    (found,) = store(a_store(trouble="it is on nfs; name another with --db"))
    assert (found.found, found.remedy) == ("it is on nfs", "name another with --db")
