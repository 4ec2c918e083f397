"""What a worker's commit decides on, where others changed the store since that worker's last commit."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from nonoka.adapters.sqlite import tasks
from nonoka.adapters.sqlite.store import SqliteStore
from nonoka.adapters.sqlite.store_check.repairs import REPAIRS
from nonoka.adapters.sqlite.transactions import view_of
from nonoka.decisions.turn import begin, finish_call, record_process
from nonoka.errors import ClaimLost, UnknownSession
from nonoka.ports.store import Decide
from nonoka.records.commit import Changes, Claim, Committed, SessionView, TaskOutcome
from nonoka.records.signal import SignalKind
from nonoka.records.tool import Effect, ProcessGroup
from tests.support.manual_clock import ManualClock
from tests.support.sessions import (
    answer,
    answering,
    asked,
    claimed,
    created,
    deciding,
    message,
    result,
    signal,
    start,
    take,
    user_entry,
    writing,
)

GROUP = ProcessGroup(group=77, started=5, boot_id="boot", pid_namespace="pid:[1]", mark="m")


@pytest.fixture
async def store(clock: ManualClock, tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """The one that the worker works with."""
    opened = await SqliteStore.open(tmp_path / "sessions.db", clock)
    yield opened
    await opened.close()


@pytest.fixture
async def others(store: SqliteStore, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    """Another process's."""
    opened = await SqliteStore.open(store.path, clock)
    yield opened
    await opened.close()


def looked(found: list[SessionView]) -> Decide:
    """Change nothing and note what the transaction shows."""

    def decide(view: SessionView) -> Changes:
        found.append(view)
        return Changes(task=TaskOutcome(retries=view.task.retries, deaths=view.task.deaths))

    return decide


async def seen(store: SqliteStore, claim: Claim) -> SessionView:
    """What the next commit under this claim decides on."""
    found: list[SessionView] = []
    await store.commit(claim, looked(found))
    return found[-1]


def stored(store: SqliteStore, claim: Claim, now: int) -> SessionView:
    """The same, read by somebody who knows nothing of the session."""
    with closing(sqlite3.connect(store.path)) as db:
        db.row_factory = sqlite3.Row
        return view_of(db, tasks.get(db, claim.task_id), now)


async def test_each_commit_decides_on_what_is_stored(store: SqliteStore, clock: ManualClock) -> None:
    """After an answer, calls, a process, results out of order, a withdrawal, signals, the next turn's claim."""
    session_id, claim = await claimed(store, clock)

    async def committed(decide: Decide, **options: object) -> Committed:
        clock.advance_ms(7)
        done = await store.commit(claim, decide, **options)  # type: ignore[arg-type]
        now = done.next_claim or done.claim
        assert done.view == stored(store, now, clock.now_ms())
        clock.advance_ms(7)
        shown = await seen(store, now)
        assert shown == stored(store, now, clock.now_ms()).model_copy(update={"task": shown.task})
        return done

    plans = {0: start(0), 1: start(1), 2: start(2, Effect.EXTERNAL, "tell")}
    await committed(answering(answer("three", asked("a", x=1), asked("b"), asked("c")), plans))
    await committed(deciding(record_process, 1, GROUP))
    await committed(deciding(finish_call, 1, result("b's"), plans))
    await store.add_signal(session_id, message())
    await committed(deciding(finish_call, 0, result("a's", "timeout"), plans))
    done = await committed(deciding(finish_call, 2, result("c's"), plans), then_claim=deciding(begin))
    assert done.next_claim is not None
    claim = done.next_claim
    await committed(writing(Changes(entries=(user_entry(9),))))
    await committed(writing(Changes(withdraw_from=9, workspace="take")))
    await committed(writing(Changes(workspace="free")))


async def test_a_signal_of_another_process_is_seen(
    store: SqliteStore, others: SqliteStore, clock: ManualClock
) -> None:
    session_id, claim = await claimed(store, clock)
    await seen(store, claim)

    await others.add_signal(session_id, signal(SignalKind.CANCEL))

    assert [s.kind for s in (await seen(store, claim)).signals] == [SignalKind.CANCEL]


async def test_a_workspace_that_another_process_takes_is_seen_as_taken(
    store: SqliteStore, others: SqliteStore, clock: ManualClock
) -> None:
    _, claim = await claimed(store, clock)
    _, other = await claimed(others, clock)
    assert (await seen(store, claim)).workspace_holder is None

    await others.commit(other, writing(Changes(workspace="take")))
    assert (await seen(store, claim)).workspace_holder == other.task_id

    await others.commit(other, writing(Changes(workspace="free")))
    assert (await seen(store, claim)).workspace_holder is None


async def test_what_another_process_commits_to_the_session_is_seen(
    store: SqliteStore, others: SqliteStore, clock: ManualClock
) -> None:
    """Under the same claim, and without a word of the state: entries, and entries that are withdrawn."""
    _, claim = await claimed(store, clock)
    await seen(store, claim)

    await others.commit(claim, writing(Changes(entries=(user_entry(4),))))
    assert (await seen(store, claim)).next_position == 5

    await others.commit(claim, writing(Changes(withdraw_from=0)))
    assert (await seen(store, claim)).last_role is None


async def test_who_has_lost_a_claim_and_takes_it_again_sees_what_happened_between(
    store: SqliteStore, others: SqliteStore, clock: ManualClock
) -> None:
    """The old claim commits nothing; the new one begins with what the store holds."""
    session_id, claim = await claimed(store, clock)
    await seen(store, claim)
    lost = next(found for found in await others.running_claims() if found.task.task_id == claim.task_id)
    taken = await others.take_over(lost, "w2")
    assert taken is not None
    await others.commit(taken[0], writing(Changes(entries=(user_entry(4),), task=TaskOutcome(kind="ready"))))

    with pytest.raises(ClaimLost):
        await seen(store, claim)
    again = await take(store, session_id)

    assert again.view.next_position == 5
    assert (await seen(store, again.claim)).next_position == 5


async def test_a_session_that_another_process_deletes_is_gone(
    store: SqliteStore, others: SqliteStore, clock: ManualClock
) -> None:
    session_id, claim = await claimed(store, clock)
    await store.commit(claim, writing(Changes(task=TaskOutcome(kind="ready"))))
    await others.delete_session(session_id)

    with pytest.raises(ClaimLost):
        await seen(store, claim)
    with pytest.raises(UnknownSession):
        await store.load_session(session_id)


async def test_a_repair_of_the_store_is_seen(store: SqliteStore, clock: ManualClock) -> None:
    """A session that was in no list is shown as it was listed again."""
    session_id, claim = await claimed(store, clock)
    listed = (await seen(store, claim)).index
    with closing(sqlite3.connect(store.path, isolation_level=None)) as db:
        db.row_factory = sqlite3.Row
        db.execute("DELETE FROM cli_sessions WHERE session_id = ?", (session_id,))
        clock.advance_ms(3)
        REPAIRS["every session can be found"](db, [session_id], clock.now_ms())

    shown = (await seen(store, claim)).index

    assert shown == stored(store, claim, clock.now_ms()).index
    assert shown != listed


async def test_a_commit_that_fails_leaves_nothing_known(store: SqliteStore, clock: ManualClock) -> None:
    """What it would have written is in no later view."""
    _, claim = await claimed(store, clock)
    before = await seen(store, claim)

    def refuse(view: SessionView) -> Changes:
        return Changes(entries=(user_entry(4), user_entry(4)))

    with pytest.raises(Exception, match="UNIQUE"):
        await store.commit(claim, refuse)

    assert (await seen(store, claim)).next_position == before.next_position


async def test_a_turn_that_others_wait_for_is_left_with_its_state(store: SqliteStore, clock: ManualClock) -> None:
    """Where the next turn might have been claimed in the same transaction and wasn't, the state is saved."""
    session_id, claim = await claimed(store, clock)
    await store.add_signal(session_id, message())
    await created(store, clock)
    clock.advance_ms(1_000)

    done = await store.commit(claim, answering(answer(tokens=7)), then_claim=deciding(begin), give_way=True)

    assert done.next_claim is None
    assert (await store.load_session(session_id)).runtime_state.usage.input_tokens == 7
