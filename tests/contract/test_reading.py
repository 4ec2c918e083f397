"""Reading: what those find who look, as of one moment and without writing."""

from __future__ import annotations

import pytest

from nonoka.decisions.turn import begin, finish_call
from nonoka.errors import AmbiguousSession, UnknownSession
from nonoka.ports.store import Store
from nonoka.records.commit import Changes, Standing
from nonoka.records.event import EventType, NewEvent
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.runtime import RuntimeLimits
from nonoka.records.session import SessionStatus, StepStatus
from nonoka.records.step_update import StepUpdate
from nonoka.records.task import TaskStatus
from tests.support.manual_clock import ManualClock
from tests.support.sessions import (
    answer,
    answering,
    asked,
    claimed,
    created,
    deciding,
    message,
    new_session,
    result,
    start,
    user_entry,
    writing,
)


async def test_a_session_is_found_by_any_unique_prefix(store: Store, clock: ManualClock) -> None:
    for session_id in ("abc-1", "abc-2", "xyz-1"):
        await created(store, clock, session_id=session_id)

    assert (await store.find_session("x")).session_id == "xyz-1"
    assert (await store.find_session("abc-2")).session_id == "abc-2"
    with pytest.raises(AmbiguousSession, match="abc-1, abc-2"):
        await store.find_session("abc")
    with pytest.raises(UnknownSession, match="'q'"):
        await store.find_session("q")


async def test_a_whole_id_is_never_ambiguous(store: Store, clock: ManualClock) -> None:
    for session_id in ("abc", "abcd", "abce"):
        await created(store, clock, session_id=session_id)

    assert (await store.find_session("abc")).session_id == "abc"


@pytest.mark.parametrize("prefix", ["%", "_bc", "a%", "a_c", "A"])
async def test_a_prefix_is_taken_literally(store: Store, clock: ManualClock, prefix: str) -> None:
    await created(store, clock, session_id="abc-1")

    with pytest.raises(UnknownSession):
        await store.find_session(prefix)


async def test_a_loaded_session_is_whole(store: Store, clock: ManualClock) -> None:
    """Snapshot, conversation and steps together, as one state."""
    limits = RuntimeLimits(max_model_turns=7)
    new = new_session(clock, "ünï 😀", limits=limits)
    taken = await store.create_session(new, claim_by="w1", decide=deciding(begin))
    assert taken is not None
    plans = {0: start(0), 1: start(1)}
    claim = taken.claim
    asking = answer("look", asked("a", "", deep={"x": [1, None]}), asked("b"))
    await store.commit(claim, answering(asking, plans))
    await store.commit(claim, deciding(finish_call, 1, result("no", "boom"), plans))

    state = await store.load_session(new.index.session_id)

    assert [(e.position, e.role, e.content) for e in state.memory_entries] == [
        (0, MemoryRole.USER, "ünï 😀"),
        (1, MemoryRole.ASSISTANT, "look"),
        (3, MemoryRole.TOOL, "no"),
    ]
    assert [call.args for call in state.memory_entries[1].tool_calls] == [{"deep": {"x": [1, None]}}, {}]
    assert state.runtime_state.limits == limits
    assert state.runtime_state.open_turn is not None
    assert state.step_statuses == {
        "turn:1/call:0": StepStatus.RUNNING,
        "turn:1/call:1": StepStatus.FAILED,
    }
    assert state.failed_steps["turn:1/call:1"].error_type == "boom"
    assert state.completed_steps == {}
    assert state == (await store.detail(new.index.session_id)).state


async def test_a_late_status_of_the_same_attempt_does_not_hide_a_result(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)
    for update_type, payload in (
        ("result", {"attempt": 1}),
        ("status", {"state": "running", "attempt": 1}),
    ):
        update = StepUpdate.model_validate({"step_id": "s", "update_type": update_type, "payload": payload})
        await store.commit(claim, writing(Changes(updates=(update,))))

    assert (await store.load_session(session_id)).step_statuses == {"s": StepStatus.COMPLETED}


async def test_an_unknown_session_is_refused_by_name(store: Store) -> None:
    with pytest.raises(UnknownSession, match="'nothing'"):
        await store.load_session("nothing")
    with pytest.raises(UnknownSession, match="'nothing'"):
        await store.detail("nothing")


async def test_a_conversation_is_read_in_order_from_any_position(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)
    await store.commit(claim, writing(Changes(entries=(user_entry(2, "c"), user_entry(1, "b")))))

    assert [entry.content for entry in await store.conversation(session_id)] == ["hello", "b", "c"]
    assert [e.content for e in await store.conversation(session_id, from_position=1)] == ["b", "c"]
    assert await store.conversation(session_id, from_position=3) == []


async def test_an_entry_comes_back_as_it_was_written(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)
    entry = MemoryEntry(
        position=1,
        role=MemoryRole.ASSISTANT,
        content="zeile\nzwei \u2028 😀 '\"\\",
        metadata={"provider": {"sig": "ß", "n": [1.5, True, None]}, "turn": 1},
        tokens=12,
    )

    await store.commit(claim, writing(Changes(entries=(entry,))))

    assert (await store.conversation(session_id))[1] == entry


async def test_sessions_are_listed_newest_first(store: Store, clock: ManualClock) -> None:
    created_in_order = []
    for _ in range(4):
        created_in_order.append(await created(store, clock))
        clock.advance_ms(1)
    oldest = created_in_order[0]
    taken = await store.claim("w1", deciding(begin), session_id=oldest)
    assert taken is not None

    lines = await store.list_sessions(limit=10)

    assert [line.index.session_id for line in lines] == created_in_order[::-1]
    assert [line.status for line in lines] == ["created", "created", "created", "running"]
    assert lines[-1].index.last_active == clock.now_ms()
    assert [line.index.session_id for line in await store.list_sessions(limit=2)] == created_in_order[:1:-1]


async def test_a_reader_follows_events_from_where_it_stands(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)
    told = [NewEvent(type=EventType.TEXT_STREAMED, data={"n": n}) for n in range(5)]
    await store.commit(claim, writing(Changes(events=tuple(told))))

    events = await store.events_after(session_id, 2)

    assert [event.seq for event in events] == [3, 4, 5, 6, 7]
    assert [event.data for event in events] == [{"n": n} for n in range(5)]
    assert [event.seq for event in await store.events_after(session_id, 2, limit=2)] == [3, 4]
    assert await store.events_after(session_id, 7) == []


async def test_the_change_mark_differs_after_any_commit(store: Store, clock: ManualClock) -> None:
    """Creating, claiming, committing and signalling are all seen."""
    marks = [await store.change_mark()]
    session_id = await created(store, clock)
    marks.append(await store.change_mark())
    taken = await store.claim("w1", deciding(begin))
    assert taken is not None
    marks.append(await store.change_mark())
    await store.commit(taken.claim, answering(answer()))
    marks.append(await store.change_mark())
    await store.add_signal(session_id, message())
    marks.append(await store.change_mark())

    assert len(set(marks)) == len(marks)


async def test_looking_changes_nothing(store: Store, clock: ManualClock) -> None:
    session_id = await created(store, clock)
    mark = await store.change_mark()

    await store.detail(session_id)
    await store.list_sessions(limit=5)
    await store.events_after(session_id, 0)
    await store.running_claims()

    assert await store.change_mark() == mark


async def test_a_session_stands_where_its_status_and_live_tasks_say(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)
    standing = await store.standing(session_id)
    assert standing.status is SessionStatus.RUNNING
    assert [task.task_id for task in standing.live_tasks] == [claim.task_id]

    await store.commit(claim, answering(answer()))
    assert await store.standing(session_id) == Standing(status=SessionStatus.COMPLETED)

    await store.add_signal(session_id, message())
    standing = await store.standing(session_id)
    assert standing.status is SessionStatus.COMPLETED
    assert [(task.key, task.status) for task in standing.live_tasks] == [("turn:2", TaskStatus.READY)]
    with pytest.raises(UnknownSession):
        await store.standing("nothing")
