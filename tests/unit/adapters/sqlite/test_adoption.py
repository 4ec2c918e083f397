"""A ``sessions.db`` of nonoka 1.3.8 becomes a store of ours."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from nonoka.adapters.sqlite.adoption import adopt as module
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.decisions.conversation_rules import first_fault
from nonoka.errors import StoreError
from nonoka.records.memory import MemoryRole
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from tests.support.legacy_store import COMPLETED, FAILED, KILLED, PLAN, TWO_PROMPTS, write_legacy_store
from tests.support.manual_clock import ManualClock
from tests.support.sessions import message, signal, take


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / ".nonoka" / "sessions.db"
    write_legacy_store(found)
    return found


@pytest.fixture
async def store(file: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(file, ManualClock())
    yield opened
    await opened.close()


def dump(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as db:
        return list(db.iterdump())


async def test_its_sessions_are_listed_with_their_titles_models_and_place(store: SqliteStore, file: Path) -> None:
    lines = {line.index.session_id: line for line in await store.list_sessions(limit=10)}
    assert {key: line.status for key, line in lines.items()} == {
        COMPLETED: "completed",
        KILLED: "paused",
        TWO_PROMPTS: "completed",
        FAILED: "failed",
        PLAN: "completed",
    }
    assert [lines[key].index.title for key in (COMPLETED, KILLED)] == ["Count the files", "pay please"]
    assert {line.index.model for line in lines.values()} == {"openai:gpt-4o-mini"}
    assert {line.index.working_dir for line in lines.values()} == {str(file.parent.parent)}


async def test_every_conversation_is_valid_and_whole(store: SqliteStore) -> None:
    """What was noted before the kill, but never checkpointed, included."""
    for line in await store.list_sessions(limit=10):
        assert first_fault(await store.conversation(line.index.session_id)) is None
    said = [(e.role, e.content) for e in await store.conversation(COMPLETED)]
    assert said[0] == (MemoryRole.USER, "count please")
    assert said[-1] == (MemoryRole.ASSISTANT, "There are 3 files in docs and 4 in tests.")
    assert [content for role, content in said if role is MemoryRole.TOOL] == [
        '{"result": 3, "has_more": false}',
        '{"result": 4, "has_more": false}',
    ]
    assert [e.content for e in await store.conversation(TWO_PROMPTS)] == [
        "hi please",
        "Hello! ☃",
        "hi again",
        "Hello! ☃",
    ]


async def test_a_call_without_a_result_is_told_to_be_of_unknown_outcome(store: SqliteStore) -> None:
    user, asked, *results = await store.conversation(KILLED)
    assert user.content == "pay please"
    assert [call.name for call in asked.tool_calls] == ["count_files", "pay"]
    assert [(r.content, r.metadata["ok"]) for r in results] == [("interrupted, outcome unknown", False)] * 2
    [_, told] = await store.events_after(KILLED, 0)
    assert told.data["why"] == "it was written by nonoka 1.3.8 and adopted; 2 of its calls had no result"


async def test_a_plan_is_shown_with_what_its_steps_brought(store: SqliteStore) -> None:
    asked, answered = await store.conversation(PLAN)
    assert asked.content == "Run the plan of steps a."
    assert '"result": 3' in answered.content


async def test_every_session_can_be_continued_under_a_turn_number_of_its_own(store: SqliteStore) -> None:
    """None of them begins anything by itself."""
    assert await store.ready_tasks(limit=10) == []
    assert await store.repair_taskless() == []
    for session_id in (COMPLETED, TWO_PROMPTS, FAILED, PLAN):
        await store.add_signal(session_id, message())
        taken = await take(store, session_id)
        assert taken.view.state.status is SessionStatus.RUNNING
    await store.add_signal(KILLED, signal(SignalKind.RESUME))
    taken = await take(store, KILLED)
    assert taken.view.state.status is SessionStatus.RUNNING
    used = {e.metadata.get("turn") for e in await store.conversation(KILLED)}
    assert taken.view.task.turn not in used


async def test_local_times_without_a_zone_become_ms_utc(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Etc/GMT-3")  # three hours ahead of UTC
    time.tzset()
    try:
        store = await SqliteStore.open(file, ManualClock())
        index = await store.find_session(COMPLETED)
        await store.close()
    finally:
        monkeypatch.undo()
        time.tzset()
    assert index.created_at == 1796135861876  # 2026-12-01T14:37:41.876Z


async def test_what_it_wrote_is_kept_beside_what_was_made_of_it(store: SqliteStore, file: Path) -> None:
    before = file.with_name("before.db")
    write_legacy_store(before)
    for table in ("checkpoints", "memory_entries", "step_updates", "cli_sessions"):
        with closing(sqlite3.connect(file)) as ours, closing(sqlite3.connect(before)) as theirs:
            kept = ours.execute(f"SELECT * FROM legacy_{table}").fetchall()
            assert kept == theirs.execute(f"SELECT * FROM {table}").fetchall() != []


async def test_a_failure_in_the_middle_leaves_the_old_file_as_it_was(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, copied = dump(file), []
    copy = module._copy

    def fail_at_the_third(*args: object) -> None:
        copied.append(args)
        if len(copied) == 3:
            raise sqlite3.OperationalError("disk I/O error")
        copy(*args)  # type: ignore[arg-type]  # whatever it takes

    monkeypatch.setattr(module, "_copy", fail_at_the_third)
    with pytest.raises(StoreError, match="disk I/O error"):
        await SqliteStore.open(file, ManualClock())
    monkeypatch.undo()
    assert dump(file) == before
    store = await SqliteStore.open(file, ManualClock())
    assert len(await store.list_sessions(limit=10)) == 5
    await store.close()


async def test_many_openers_adopt_it_once(file: Path) -> None:
    stores = await asyncio.gather(*(SqliteStore.open(file, ManualClock()) for _ in range(6)))
    assert [len(await store.list_sessions(limit=10)) for store in stores] == [5] * 6
    for store in stores:
        await store.close()


async def test_the_database_of_another_program_is_refused_and_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE checkpoints (id INTEGER)")
        db.commit()
    before = file.read_bytes()
    with pytest.raises(StoreError, match=r"database of another program \(it has a table 'checkpoints'\)"):
        await SqliteStore.open(file, ManualClock())
    assert file.read_bytes() == before
