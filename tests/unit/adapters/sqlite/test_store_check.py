"""The rules of a sound store: each is broken by hand, found by name, and repaired where it can be."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.adapters.sqlite.store_check.check import check, invariants
from nonoka.adapters.sqlite.store_check.repairs import REPAIRS
from nonoka.decisions.turn import finish_call
from nonoka.errors import StoreDamaged
from nonoka.records.condition import CheckedRule
from tests.support.manual_clock import ManualClock
from tests.support.sessions import a_worker, answer, answering, asked, created, deciding, result, take

NOW = 1_000_000
#: The rule, and a statement that breaks it for session S (completed calls, running), T (new) or for nobody.
BREACHES = [
    ("a session that goes on has a task", "DELETE FROM tasks WHERE session_id = 'T'"),
    (
        "a session that has ended waits for nothing",
        "UPDATE checkpoints SET status = 'failed', state_json = json_set(state_json, '$.status', 'failed') "
        "WHERE session_id = 'T'; UPDATE tasks SET status = 'waiting', waits_for = 'child' WHERE session_id = 'T'",
    ),
    (
        "a session has one live turn",
        "INSERT INTO tasks (task_id, session_id, kind, key, status) "
        "VALUES ('S/turn:7', 'S', 'turn', 'turn:7', 'ready')",
    ),
    (
        "a step at work has a task",
        "INSERT INTO plan_steps (session_id, plan, step, item, place, status, phase, run_json) "
        "VALUES ('S', 1, 'a', 2, 0, 'running', 'tasked', "
        '\'{"plan": 1, "step": "a", "item": 2, "status": "running", "phase": "tasked"}\')',
    ),
    ("a running task has an owner", "DELETE FROM workers"),
    (
        "the status beside a state is the state's",
        "UPDATE checkpoints SET status = 'paused' WHERE session_id = 'S'",
    ),
    (
        "a state is of its session",
        "UPDATE checkpoints SET state_json = json_set(state_json, '$.session_id', 'X') WHERE session_id = 'S'",
    ),
    ("every session can be found", "DELETE FROM cli_sessions WHERE session_id = 'S'"),
    (
        "every row is of a session",
        "INSERT INTO signals (session_id, seq, kind, payload_json, created_at) "
        "VALUES ('X', 1, 'message', '{}', 0)",
    ),
    ("a conversation has no gap", "DELETE FROM memory_entries WHERE session_id = 'S' AND position = 0"),
    (
        "a call has its result right after it",
        "DELETE FROM memory_entries WHERE session_id = 'S' AND position = 2",
    ),
    (
        "a result answers a call",
        "INSERT INTO memory_entries SELECT session_id, 9, role, content, metadata, tokens, NULL "
        "FROM memory_entries "
        "WHERE session_id = 'S' AND position = 2",
    ),
    (
        "an open turn is in the conversation",
        "UPDATE checkpoints SET state_json = "
        'json_set(state_json, \'$.runtime_state.open_turn\', json(\'{"turn": 9, "position": 40, "calls": 1}\')) '
        "WHERE session_id = 'T'",
    ),
]


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    """A store with a session S in its second turn, after a call and its result, and a new one T."""
    clock = ManualClock()
    store = await SqliteStore.open(tmp_path / "sessions.db", clock)
    await store.register_worker(a_worker("w1", clock))
    await created(store, clock, session_id="S")
    claim = (await take(store, "S")).claim
    await store.commit(claim, answering(answer("", asked())))
    await store.commit(claim, deciding(finish_call, 0, result(), {}))
    await take(store, "S")
    await created(store, clock, session_id="T")
    await store.close()
    return tmp_path / "sessions.db"


def change(file: Path, script: str) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.executescript(script)


def broken(rules: list[CheckedRule]) -> dict[str, tuple[str, ...]]:
    return {rule.rule: rule.broken for rule in rules if not rule.holds}


async def test_a_sound_store_breaks_no_rule(file: Path) -> None:
    rules = await check(file, now_ms=NOW)
    assert [rule for rule in rules if rule.broken] == []
    assert {rule.rule for rule in rules} > set(invariants())


def test_every_rule_is_broken_by_a_test_and_every_repair_is_of_a_rule() -> None:
    names = {rule for rule, _ in BREACHES}
    assert names == {*invariants(), "every row is of a session"}
    assert set(REPAIRS) - names == {"the file is a sound database"}


@pytest.mark.parametrize(("rule", "breach"), BREACHES, ids=[rule for rule, _ in BREACHES])
async def test_a_breach_is_found_by_name_and_repaired_if_it_can_be(file: Path, rule: str, breach: str) -> None:
    """What can't be repaired is told with what to do about it; a repair leaves a store that is sound."""
    change(file, breach)
    [found] = [found for found in await check(file, now_ms=NOW) if found.rule == rule]
    assert found.broken
    assert found.repaired is None
    assert found.remedy
    repaired = await check(file, now_ms=NOW, repair=True)
    if rule in REPAIRS:
        assert rule not in broken(repaired)
        assert broken(await check(file, now_ms=NOW)) == {}
    else:
        assert broken(repaired)[rule] == found.broken


async def test_what_a_worker_runs_is_the_turn_that_is_kept(file: Path) -> None:
    """A repair disturbs nobody who works."""
    change(file, dict(BREACHES)["a session has one live turn"])
    await check(file, now_ms=NOW, repair=True)
    store = await SqliteStore.open(file, ManualClock())
    assert [task.key for task in (await store.standing("S")).live_tasks] == ["turn:2"]
    assert await store.renew("w1") != {}
    [told] = [e for e in await store.events_after("S", 0) if e.type == "session_repaired"]
    assert told.data["why"] == "it had 2 turns at once; turn:2 is left"
    await store.close()


async def test_an_index_that_lost_rows_is_built_anew(file: Path) -> None:
    """Its rows are still in the table."""
    change(
        file,
        "CREATE TABLE spare (a); CREATE INDEX spare_a ON spare (a); PRAGMA writable_schema = ON;"
        "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'spare_a') "
        "WHERE name = 'tasks_ready'; DELETE FROM sqlite_master WHERE name = 'spare_a'",
    )
    found = broken(await check(file, now_ms=NOW))["the file is a sound database"]
    assert any("tasks_ready" in one for one in found), found


async def test_pages_of_garbage_are_told_and_never_a_crash(file: Path) -> None:
    """Whatever part of the file it is."""
    for page in pages_of(file):
        with garbage_at(file, page):
            try:
                told = [one for rule in await check(file, now_ms=NOW, repair=page % 2 == 0) for one in rule.broken]
            except StoreDamaged as error:
                told = [str(error)]
        assert told, page


def pages_of(file: Path) -> range:
    return range(1, file.stat().st_size // 4096)


@contextmanager
def garbage_at(file: Path, page: int) -> Iterator[None]:
    sound = file.read_bytes()
    file.write_bytes(sound[: page * 4096] + b"\xa5" * 4096 + sound[(page + 1) * 4096 :])
    yield
    file.write_bytes(sound)
