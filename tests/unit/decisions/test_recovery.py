"""What becomes of a claim whose worker is gone, and of the calls that were in doubt."""

from __future__ import annotations

import pytest

from nonoka.decisions.recovery import UNKNOWN_OUTCOME, hand_back, release_lost, settle_and_retry
from nonoka.decisions.retry import MAX_DEATHS
from nonoka.decisions.turn import (
    AdvanceCalls,
    CallModel,
    Failure,
    advance_calls,
    finish_call,
    next_action,
)
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.task import TaskStatus
from nonoka.records.tool import Effect, OnUncertain, SettledCall
from nonoka.records.workspace import Rollback
from tests.support.one_session import OneSession
from tests.support.sessions import answer, asked, result, start, with_snapshot

REPLAYED = [
    (Effect.READ_ONLY, "tell"),
    (Effect.IDEMPOTENT, "fail"),
    (Effect.WORKSPACE, "replay"),
    (Effect.EXTERNAL, "replay"),
]


async def with_a_call_in_doubt(effect: Effect, on_uncertain: OnUncertain) -> OneSession:
    """Two calls are asked for; the first is begun and its worker dies."""
    session = await OneSession.running()
    plans = {0: start(0, effect, on_uncertain), 1: start(1, Effect.EXTERNAL)}
    await session.answered(answer("so", asked(), asked()), plans)
    if effect is Effect.WORKSPACE:
        await session.commit(advance_calls, with_snapshot(plans, 0))
    await session.taken_over()
    return session


#: The workspace of the first call is back as it was.
ROLLED_BACK = {0: SettledCall(place=0, rollback=Rollback(before="what was there"))}


@pytest.mark.parametrize(("effect", "on_uncertain"), REPLAYED)
async def test_what_may_run_twice_is_marked_not_begun(effect: Effect, on_uncertain: OnUncertain) -> None:
    session = await with_a_call_in_doubt(effect, on_uncertain)

    view = await session.commit(release_lost, ROLLED_BACK if effect is Effect.WORKSPACE else {})

    assert (view.task.status, view.task.deaths) == (TaskStatus.READY, 1)
    assert view.calls[0].status == "not_begun"
    assert view.calls[0].attempt == 1
    assert next_action(await session.claimed()) == AdvanceCalls()


@pytest.mark.parametrize("effect", [Effect.EXTERNAL, Effect.WORKSPACE])
async def test_a_call_that_tells_is_answered_with_its_unknown_outcome(effect: Effect) -> None:
    session = await with_a_call_in_doubt(effect, "tell")

    view = await session.commit(release_lost, ROLLED_BACK if effect is Effect.WORKSPACE else {})

    assert [call.status for call in view.calls] == ["done", "not_begun"]
    assert (await session.contents())[-1].startswith(UNKNOWN_OUTCOME.content)
    assert next_action(await session.claimed()) == AdvanceCalls()


async def test_a_call_that_fails_ends_the_run_and_none_after_it_begins() -> None:
    session = await with_a_call_in_doubt(Effect.EXTERNAL, "fail")

    view = await session.commit(release_lost)

    assert view.state.status is SessionStatus.FAILED
    termination = view.state.runtime_state.termination
    assert termination is not None
    assert termination.error_type == "outcome_unknown"
    assert (await session.contents())[2:] == [UNKNOWN_OUTCOME.content, "not run: the run ended"]
    assert (await session.store.standing(session.session_id)).at_rest


async def test_a_task_that_kills_its_workers_is_given_up() -> None:
    """At the fifth death: the session has failed, every call has a result, every message is kept."""
    session = await OneSession.running()
    for deaths in range(1, MAX_DEATHS + 1):
        await session.signalled(f"message {deaths}")
        await session.taken_over()
        view = await session.commit(release_lost)
        assert view.task.deaths == deaths
        if deaths < MAX_DEATHS:
            await session.claimed()

    assert (view.task.status, view.state.status) == (TaskStatus.DEAD, SessionStatus.FAILED)
    assert view.signals == ()
    termination = view.state.runtime_state.termination
    assert termination is not None
    assert termination.error_type == "worker_crashed"
    assert await session.contents() == ["hello", *(f"message {n}" for n in range(1, MAX_DEATHS + 1))]


async def test_a_session_that_was_given_up_can_be_retried() -> None:
    session = await OneSession.running()
    for _ in range(MAX_DEATHS - 1):
        await session.taken_over()
        await session.commit(release_lost)
        await session.claimed()
    await session.taken_over()
    await session.commit(release_lost)

    await session.signalled(SignalKind.RETRY)
    view = await session.claimed()

    assert (view.task.key, view.task.deaths) == ("turn:2", 0)
    assert next_action(view) == CallModel()


async def test_a_committed_result_sets_the_count_of_deaths_back() -> None:
    session = await OneSession.running()
    plans = {0: start(0), 1: start(1)}
    await session.taken_over()
    await session.commit(release_lost)
    assert (await session.claimed()).task.deaths == 1
    view = await session.answered(answer("so", asked(), asked()), plans)
    assert view.task.deaths == 0
    await session.taken_over()
    await session.commit(release_lost)
    assert (await session.claimed()).task.deaths == 1


async def test_a_model_call_lost_with_its_worker_adds_an_estimate_marked_so() -> None:
    session = await OneSession.running()
    await session.answered(answer("so", asked(), tokens=40))
    await session.commit(finish_call, 0, result(), {0: start(0)})
    await session.claimed()
    await session.taken_over()

    view = await session.commit(release_lost)

    usage = view.state.runtime_state.usage
    assert (usage.input_tokens, usage.estimated) == (80, True)


async def test_what_is_handed_back_counts_no_death_and_is_due_at_once() -> None:
    session = await OneSession.running()
    await session.answered(answer("so", asked()))

    view = await session.commit(hand_back)

    assert (view.task.status, view.task.deaths) == (TaskStatus.READY, 0)
    assert [call.status for call in view.calls] == ["not_begun"]
    assert next_action(await session.claimed()) == AdvanceCalls()


@pytest.mark.parametrize(
    "signals",
    [
        [],
        ["text"],
        [SignalKind.CANCEL],
        [SignalKind.CANCEL, "text"],
        ["text", SignalKind.CANCEL, "text", SignalKind.PAUSE],
        [SignalKind.CANCEL, SignalKind.RETRY, "text"],
        [SignalKind.PAUSE],
        [SignalKind.PAUSE, "text", SignalKind.RESUME],
        [SignalKind.PAUSE, SignalKind.CANCEL, "text"],
    ],
)
@pytest.mark.parametrize("calls", [0, 2])
async def test_what_is_handed_back_runs_for_nobody(signals: list[SignalKind | str], calls: int) -> None:
    """A task left running under the claim would wait as long as this worker lives."""
    session = await OneSession.running()
    if calls:
        await session.answered(answer("so", *(asked() for _ in range(calls))))
    await session.signalled(*signals)

    view = await session.commit(hand_back)

    assert view.task.status is not TaskStatus.RUNNING
    assert await session.store.running_claims() == []


async def test_a_pause_has_its_effect_as_the_task_is_handed_back() -> None:
    session = await OneSession.running()
    await session.answered(answer("so", asked()))
    await session.signalled(SignalKind.PAUSE)

    view = await session.commit(hand_back)

    assert (view.state.status, view.task.status) == (SessionStatus.PAUSED, TaskStatus.DONE)
    assert [call.status for call in view.calls] == ["not_begun"]


async def test_an_attempt_that_broke_down_is_settled_and_waits() -> None:
    session = await OneSession.running()
    await session.answered(answer("so", asked()))

    view = await session.commit(settle_and_retry, Failure("internal_error", "boom", may_pass=True), 0.0)

    assert (view.task.status, view.task.retries) == (TaskStatus.READY, 1)
    assert view.task.not_before > session.clock.now_ms()
    assert [call.status for call in view.calls] == ["not_begun"]


async def test_a_retry_or_resume_that_came_before_does_not_answer_what_a_person_is_asked() -> None:
    """They are read, by a turn of their own, and the session waits on for the answer."""
    session = await with_a_call_in_doubt(Effect.EXTERNAL, "ask")
    await session.signalled(SignalKind.RETRY, SignalKind.RESUME)

    view = await session.commit(release_lost)

    assert view.state.status is SessionStatus.PAUSED
    view = await session.claimed()
    assert view.state.status is SessionStatus.PAUSED
    assert (await session.detail()).signals == ()
    assert (await session.store.standing(session.session_id)).at_rest
