"""Committing: all of a decision or nothing, and only under the claim's own fence."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from nonoka.decisions.draft import Draft
from nonoka.decisions.turn import begin, finish_call, record_process
from nonoka.errors import ClaimLost, StoreError
from nonoka.ports.store import LEASE_MS, Decide, Store
from nonoka.records.commit import Changes, Claim, Committed, SessionView, TaskOutcome
from nonoka.records.event import EventType, NewEvent
from nonoka.records.memory import MemoryRole
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.step_update import StepUpdate
from nonoka.records.task import TaskStatus
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

GROUP = {"group": 77, "started": 5, "boot_id": "boot", "pid_namespace": "pid:[1]", "mark": "m"}


def progress(step: str, attempt: int = 1) -> StepUpdate:
    return StepUpdate(step_id=step, update_type="result", payload={"attempt": attempt})


async def refused(store: Store, claim: Claim, session_id: str) -> None:
    """Under this claim a commit is refused, and everything is as it was."""
    before = await store.detail(session_id)
    everything = Changes(
        state=before.state.model_copy(update={"status": SessionStatus.FAILED, "memory_entries": ()}),
        entries=(user_entry(77),),
        updates=(progress("late"),),
        events=(NewEvent(type=EventType.SESSION_FAILED),),
        task=TaskOutcome(kind="done"),
        next_key="turn:99",
        ends_session=True,
    )
    with pytest.raises(ClaimLost):
        await store.commit(claim, writing(everything))
    assert await store.detail(session_id) == before


async def test_a_commit_is_all_there_at_once(store: Store, clock: ManualClock) -> None:
    """Entry, usage, status, event, the task's end: what the next view and every reader see."""
    session_id, claim = await claimed(store, clock)
    clock.advance_ms(5)

    done = await store.commit(claim, answering(answer("hi there", tokens=7)), durable=True)

    found = await store.detail(session_id)
    assert found.state.status is SessionStatus.COMPLETED
    assert found.state.runtime_state.usage.input_tokens == 7
    assert [(e.position, e.role, e.content) for e in found.state.memory_entries] == [
        (0, MemoryRole.USER, "hello"),
        (1, MemoryRole.ASSISTANT, "hi there"),
    ]
    assert [task.status for task in found.tasks] == [TaskStatus.DONE]
    assert found.events[-1].type is EventType.SESSION_COMPLETED
    assert found.events[-1].at == clock.now_ms()
    assert found.index.last_active == clock.now_ms()
    assert done.view.state.status is SessionStatus.COMPLETED
    assert done.view.state.memory_entries == ()
    assert (done.view.next_position, done.view.last_role) == (2, MemoryRole.ASSISTANT)


async def test_a_commit_that_keeps_its_task_renews_the_lease(store: Store, clock: ManualClock) -> None:
    _, claim = await claimed(store, clock)
    clock.advance_ms(20_000)

    done = await store.commit(claim, writing(Changes(task=TaskOutcome(retries=2, deaths=1))))

    task = done.view.task
    assert (task.status, task.fence, task.lease_owner) == (TaskStatus.RUNNING, claim.fence, "w1")
    assert task.lease_expires_at == clock.monotonic_ms() + LEASE_MS
    assert (task.retries, task.deaths) == (2, 1)


async def test_a_released_task_waits_under_a_raised_fence(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)
    due = clock.now_ms() + 400

    done = await store.commit(
        claim, writing(Changes(task=TaskOutcome(kind="ready", not_before=due, retries=3, deaths=2)))
    )

    task = done.view.task
    assert (task.status, task.fence, task.attempt) == (TaskStatus.READY, claim.fence + 1, 1)
    assert (task.not_before, task.retries, task.deaths) == (due, 3, 2)
    assert (task.lease_owner, task.lease_expires_at, task.sent_at, task.sends) == (None, None, None, 0)
    await refused(store, claim, session_id)


async def test_a_dead_task_keeps_its_count_and_is_never_claimed(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)

    await store.commit(claim, writing(Changes(task=TaskOutcome(kind="dead", deaths=5))))

    (task,) = (await store.detail(session_id)).tasks
    assert (task.status, task.deaths, task.lease_owner) == (TaskStatus.DEAD, 5, None)
    assert await store.claim("w2", deciding(begin), task_id=claim.task_id) is None
    await refused(store, claim, session_id)


async def test_a_finished_tasks_claim_commits_nothing_more(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)
    await store.commit(claim, answering(answer()))

    await refused(store, claim, session_id)


async def test_a_zombie_worker_cannot_commit(store: Store, clock: ManualClock) -> None:
    """Its task was taken over, released, and runs for another: the late commit changes nothing."""
    session_id, zombie = await claimed(store, clock, "w1")
    (lost,) = await store.running_claims()
    taken = await store.take_over(lost, "sweeper")
    assert taken is not None
    await refused(store, zombie, session_id)

    await store.commit(taken[0], writing(Changes(task=TaskOutcome(kind="ready", deaths=1))))
    await refused(store, zombie, session_id)

    new_owner = await take(store, session_id, "w2")
    await refused(store, zombie, session_id)
    await store.commit(new_owner.claim, answering(answer()))
    assert (await store.load_session(session_id)).status is SessionStatus.COMPLETED


async def test_nobody_commits_under_a_claim_of_another_worker(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock, "w1")

    await refused(store, claim.model_copy(update={"worker_id": "w2"}), session_id)
    await refused(store, claim.model_copy(update={"fence": claim.fence + 1}), session_id)


async def test_a_claim_of_an_unknown_task_commits_nothing(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)

    await refused(store, claim.model_copy(update={"task_id": f"{session_id}/turn:9"}), session_id)


async def test_a_decision_that_raises_writes_nothing(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)
    before = await store.detail(session_id)

    def refuse(view: SessionView) -> Changes:
        raise LookupError(view.task.task_id)

    with pytest.raises(LookupError):
        await store.commit(claim, refuse)

    assert await store.detail(session_id) == before
    await store.commit(claim, answering(answer()))


async def test_a_position_is_written_once(store: Store, clock: ManualClock) -> None:
    """One result a call, ever: the second one takes its whole commit down."""
    session_id, claim = await claimed(store, clock)
    await store.commit(claim, writing(Changes(entries=(user_entry(1, "first"),))))
    before = await store.detail(session_id)

    with pytest.raises(StoreError):
        await store.commit(
            claim,
            writing(
                Changes(
                    entries=(user_entry(2), user_entry(1, "second")),
                    updates=(progress("s"),),
                    events=(NewEvent(type=EventType.TURN_FINISHED),),
                )
            ),
        )

    assert await store.detail(session_id) == before


async def test_a_key_is_given_to_one_task_only(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)
    before = await store.detail(session_id)

    with pytest.raises(StoreError):
        await store.commit(claim, writing(Changes(entries=(user_entry(1),), next_key="turn:1")))

    assert await store.detail(session_id) == before


async def test_the_next_task_is_ready_with_the_commit_that_names_it(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)

    await store.commit(claim, writing(Changes(task=TaskOutcome(kind="done"), next_key="turn:2")))

    first, second = (await store.detail(session_id)).tasks
    assert (first.key, first.status) == ("turn:1", TaskStatus.DONE)
    assert (second.key, second.status, second.kind) == ("turn:2", TaskStatus.READY, "turn")
    assert (second.attempt, second.fence, second.retries, second.deaths) == (0, 0, 0, 0)
    assert (await take(store, session_id)).claim.task_id == second.task_id


async def test_ending_a_session_takes_its_other_tasks_off(store: Store, clock: ManualClock) -> None:
    """A task of an ended session neither runs on nor begins; the one named in the same commit does."""
    session_id, first = await claimed(store, clock)
    await store.commit(first, writing(Changes(next_key="turn:2")))
    other = await take(store, session_id, "w2")
    await store.commit(first, writing(Changes(next_key="turn:3")))

    await store.commit(
        first, writing(Changes(task=TaskOutcome(kind="done"), ends_session=True, next_key="turn:4"))
    )

    tasks = {task.key: task for task in (await store.detail(session_id)).tasks}
    assert {key: task.status for key, task in tasks.items()} == {
        "turn:1": TaskStatus.DONE,
        "turn:2": TaskStatus.DONE,
        "turn:3": TaskStatus.DONE,
        "turn:4": TaskStatus.READY,
    }
    assert tasks["turn:2"].fence == other.claim.fence + 1
    assert tasks["turn:2"].lease_owner is None
    await refused(store, other.claim, session_id)


async def test_ending_one_session_leaves_the_others_alone(store: Store, clock: ManualClock) -> None:
    other = await created(store, clock)
    _, claim = await claimed(store, clock)

    await store.commit(claim, writing(Changes(task=TaskOutcome(kind="done"), ends_session=True)))

    assert [task.status for task in (await store.detail(other)).tasks] == [TaskStatus.READY]


async def test_a_newer_update_of_a_step_takes_the_older_ones_place(store: Store, clock: ManualClock) -> None:
    """One row a step and type; its number shows which of two types came later, within one ms too."""
    session_id, claim = await claimed(store, clock)
    failed = StepUpdate(step_id="s", update_type="error", payload={"error_type": "boom", "attempt": 1})

    await store.commit(claim, writing(Changes(updates=(progress("s", 1), failed))))
    assert (await store.load_session(session_id)).failed_steps.keys() == {"s"}
    await store.commit(claim, writing(Changes(updates=(progress("s", 2),))))

    updates = (await store.detail(session_id)).updates
    assert [(u.update_type, u.payload["attempt"]) for u in updates] == [("error", 1), ("result", 2)]
    assert updates[0].seq < updates[1].seq
    state = await store.load_session(session_id)
    assert state.completed_steps.keys() == {"s"}
    assert state.failed_steps == {}


async def test_update_numbers_only_grow(store: Store, clock: ManualClock) -> None:
    """Also across sessions, and when the newest row of all was replaced."""
    seen = [0]
    for _ in range(3):
        session_id, claim = await claimed(store, clock)
        for _ in range(2):
            await store.commit(claim, writing(Changes(updates=(progress("s"),))))
            (update,) = (await store.detail(session_id)).updates
            seen.append(update.seq)

    assert seen == sorted(set(seen))


async def test_events_are_numbered_by_session_without_gaps(store: Store, clock: ManualClock) -> None:
    sessions = [await claimed(store, clock) for _ in range(2)]
    told = NewEvent(type=EventType.TEXT_STREAMED, data={"text": "ü"})
    for _, claim in sessions:
        await store.commit(claim, writing(Changes(events=(told, told))))

    for session_id, _ in sessions:
        events = await store.events_after(session_id, 0)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert events[-1].data == {"text": "ü"}


async def test_the_view_shows_the_open_turns_calls_as_they_stand(store: Store, clock: ManualClock) -> None:
    """Not begun, begun, done; and the positions of their results are reserved."""
    session_id, claim = await claimed(store, clock)
    plans = {0: start(0), 1: start(1), 2: start(2, Effect.EXTERNAL, "tell")}

    begun = await store.commit(claim, answering(answer("three", asked("a"), asked("b", x=1), asked("c")), plans))
    assert [call.status for call in begun.view.calls] == ["begun", "begun", "not_begun"]
    assert [(call.attempt, call.fence) for call in begun.view.calls] == [(1, 1), (1, 1), (0, 0)]
    assert (begun.view.next_position, begun.view.last_has_calls) == (5, True)
    assert (await store.detail(session_id)).calls == begun.view.calls

    ended = await store.commit(claim, deciding(finish_call, 1, result("b's"), plans))
    assert [call.status for call in ended.view.calls] == ["begun", "done", "not_begun"]
    assert (ended.view.next_position, ended.view.last_role) == (5, MemoryRole.TOOL)
    assert ended.view.calls[1].args == {"x": 1}

    last = await store.commit(claim, deciding(finish_call, 0, result("a's"), plans))
    assert [call.status for call in last.view.calls] == ["done", "done", "begun"]
    assert (last.view.calls[2].effect, last.view.calls[2].on_uncertain) == (Effect.EXTERNAL, "tell")
    after = await store.commit(claim, deciding(finish_call, 2, result("c's"), plans))
    assert after.view.calls == ()
    assert after.view.next_position == 5
    conversation = await store.conversation(session_id)
    assert [entry.content for entry in conversation] == ["hello", "three", "a's", "b's", "c's"]


async def test_more_than_ten_turns_and_calls_are_told_apart(store: Store, clock: ManualClock) -> None:
    """Turn 1 is not turn 11: an earlier turn's rows never show in a later one's calls."""
    session_id, claim = await claimed(store, clock)
    twelve = answer("look", *(asked("look") for _ in range(12)))
    plans = {place: start(place) for place in range(12)}
    for turn in range(1, 12):
        await store.commit(claim, answering(twelve, plans))
        for place in range(12):
            done = await store.commit(claim, deciding(finish_call, place, result(f"{turn}"), plans))
        claim = (await take(store, session_id)).claim

    waiting = {place: start(place, Effect.EXTERNAL) for place in range(12)}
    done = await store.commit(claim, answering(twelve, waiting))

    assert [call.status for call in done.view.calls] == ["begun"] + ["not_begun"] * 11
    assert [call.attempt for call in done.view.calls] == [1] + [0] * 11
    assert done.view.calls[11].step_id == "turn:12/call:11"


async def test_sixteen_results_at_once_land_once_each(store: Store, clock: ManualClock) -> None:
    """Ended within one millisecond: each is there, none twice, each at its own place."""
    session_id, claim = await claimed(store, clock)
    plans = {place: start(place) for place in range(16)}
    calls = [asked("look", place=place) for place in range(16)]
    await store.commit(claim, answering(answer("look at all", *calls), plans))

    await asyncio.gather(
        *(
            store.commit(claim, deciding(finish_call, place, result(f"result {place}"), plans))
            for place in reversed(range(16))
        )
    )

    conversation = await store.conversation(session_id)
    assert [entry.content for entry in conversation[2:]] == [f"result {place}" for place in range(16)]
    found = await store.detail(session_id)
    assert found.state.runtime_state.usage.tool_calls == 16
    assert len([update for update in found.updates if update.update_type == "result"]) == 16
    finished = [event for event in found.events if event.type is EventType.CALL_FINISHED]
    assert len(finished) == 16
    assert [(task.key, task.status) for task in found.tasks] == [
        ("turn:1", TaskStatus.DONE),
        ("turn:2", TaskStatus.READY),
    ]


async def test_each_commit_decides_on_what_the_one_before_it_left(store: Store, clock: ManualClock) -> None:
    """Twenty at once, each counting on from what it reads: none is lost."""
    session_id, claim = await claimed(store, clock)

    def count(draft: Draft) -> None:
        draft.state = draft.state.model_copy(update={"step_count": draft.state.step_count + 1})

    await asyncio.gather(*(store.commit(claim, deciding(count)) for _ in range(20)))

    assert (await store.load_session(session_id)).step_count == 20


async def test_a_cancelled_commit_is_whole_or_not_at_all(store: Store, clock: ManualClock) -> None:
    """Cancelled at each of its steps: entry, update and event are all there, or none is."""
    session_id, claim = await claimed(store, clock)
    for place in range(1, 21):
        changes = Changes(
            entries=(user_entry(place),),
            updates=(progress(f"s{place}"),),
            events=(NewEvent(type=EventType.TEXT_STREAMED, data={"place": place}),),
        )
        running = asyncio.ensure_future(store.commit(claim, writing(changes)))
        for _ in range(place % 5):
            await asyncio.sleep(0)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    # The store's transactions take their turns: when this one is through, so is all that came before.
    await store.commit(claim, writing(Changes()))
    found = await store.detail(session_id)
    entries = {entry.position for entry in found.state.memory_entries} - {0}
    steps = {int(update.step_id.removeprefix("s")) for update in found.updates}
    told = {event.data["place"] for event in found.events if event.type is EventType.TEXT_STREAMED}
    assert entries == steps == told
    assert (await store.renew("w1")) == {claim.task_id: claim.fence}


async def test_a_commit_drains_the_signals_it_names(store: Store, clock: ManualClock) -> None:
    session_id, claim = await claimed(store, clock)
    for text in ("one", "two", "three"):
        await store.add_signal(session_id, message(text))

    done = await store.commit(claim, writing(Changes(drained=(2,))))

    assert [signal.payload["text"] for signal in done.view.signals] == ["one", "three"]
    assert (await store.detail(session_id)).signals == done.view.signals


async def test_a_commit_returns_the_session_as_the_next_one_finds_it(store: Store, clock: ManualClock) -> None:
    """Whatever it wrote: an answer, calls, results out of order, signals, a release, the next turn's claim."""
    session_id, claim = await claimed(store, clock)
    found: list[SessionView] = []

    def look(view: SessionView) -> Changes:
        found.append(view)
        return Changes(task=TaskOutcome(retries=view.task.retries, deaths=view.task.deaths))

    async def committed(decide: Decide, **options: Any) -> Committed:
        clock.advance_ms(7)
        done = await store.commit(claim, decide, **options)
        await store.commit(done.next_claim or done.claim, look)
        assert found[-1] == done.view
        return done

    plans = {0: start(0), 1: start(1), 2: start(2, Effect.EXTERNAL, "tell")}
    await committed(answering(answer("three", asked("a", x=1), asked("b"), asked("c")), plans))
    await committed(deciding(record_process, 1, ProcessGroup(**GROUP)))
    await committed(deciding(finish_call, 1, result("b's"), plans))
    await store.add_signal(session_id, message())
    await committed(deciding(finish_call, 0, result("a's", "timeout"), plans))
    done = await committed(deciding(finish_call, 2, result("c's"), plans), then_claim=deciding(begin))
    assert done.next_claim is not None
    assert done.view.last_role is MemoryRole.USER
    claim = done.next_claim
    await committed(writing(Changes(task=TaskOutcome(retries=3, deaths=1))))
    await store.add_signal(session_id, signal(SignalKind.PAUSE))
    await committed(answering(answer("one", asked("d"))))
    released = await store.commit(claim, writing(Changes(task=TaskOutcome(kind="ready", retries=1))))
    assert released.view.task == (await store.detail(session_id)).tasks[-1]
