"""The commit points of a turn."""

from __future__ import annotations

import pytest

from nonoka.decisions.recovery import release_lost
from nonoka.decisions.retry import MAX_RETRIES
from nonoka.decisions.turn import (
    CallModel,
    CallPlans,
    DrainSignals,
    EndTurn,
    FailRun,
    Failure,
    RunCalls,
    Stop,
    advance_calls,
    fail_run,
    finish_call,
    next_action,
    retry_later,
)
from nonoka.records.event import EventType
from nonoka.records.runtime import RuntimeLimits
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.task import TaskStatus
from nonoka.records.tool import Effect
from tests.support.one_session import OneSession
from tests.support.sessions import answer, asked, result, start

BUSY = Failure("rate_limited", "busy", may_pass=True)
READ, EXT = Effect.READ_ONLY, Effect.EXTERNAL
DEEP = "[" * 9_999


def effects(*given: Effect) -> CallPlans:
    return {place: start(place, effect) for place, effect in enumerate(given)}


@pytest.mark.parametrize(
    ("given", "begun"),
    [
        ([READ, READ, READ], [0, 1, 2]),
        ([READ, READ, EXT, READ], [0, 1]),
        ([EXT, READ], [0]),
        ([EXT, EXT], [0]),
        ([Effect.IDEMPOTENT, READ], [0]),
        ([READ, Effect.WORKSPACE], [0]),
    ],
)
async def test_only_calls_that_read_begin_side_by_side(given: list[Effect], begun: list[int]) -> None:
    session = await OneSession.running()

    view = await session.answered(answer("so", *(asked() for _ in given)), effects(*given))

    action = next_action(view)
    assert isinstance(action, RunCalls)
    assert [call.place for call in action.calls] == begun


async def test_the_last_result_of_a_group_begins_the_next_one() -> None:
    session = await OneSession.running()
    plans = effects(READ, READ, EXT, READ)
    await session.answered(answer("so", *(asked() for _ in plans)), plans)

    first = await session.commit(finish_call, 1, result("b"), plans)
    assert [call.status for call in first.calls] == ["begun", "done", "not_begun", "not_begun"]
    second = await session.commit(finish_call, 0, result("a"), plans)
    assert [call.status for call in second.calls] == ["done", "done", "begun", "not_begun"]
    third = await session.commit(finish_call, 2, result("c"), plans)
    assert [call.status for call in third.calls] == ["done", "done", "done", "begun"]
    last = await session.commit(finish_call, 3, result("d"), plans)

    assert next_action(last) == Stop()
    assert await session.contents() == ["hello", "so", "a", "b", "c", "d"]
    assert next_action(await session.claimed()) == CallModel()


async def test_a_second_result_of_a_call_changes_nothing() -> None:
    session = await OneSession.running()
    plans = effects(READ, READ)
    await session.answered(answer("so", asked(), asked()), plans)
    await session.commit(finish_call, 0, result("first"), plans)
    before = await session.detail()

    await session.commit(finish_call, 0, result("second"), plans)

    assert await session.detail() == before


async def test_calls_that_cannot_run_are_answered_without_being_begun() -> None:
    session = await OneSession.running()
    plans: CallPlans = {0: result("no such tool", "unknown_tool"), 1: start(1, EXT), 2: result("bad", "bad_args")}

    view = await session.answered(answer("so", asked(), asked(), asked()), plans)
    assert [(call.status, call.attempt) for call in view.calls] == [("done", 0), ("begun", 1), ("done", 0)]

    await session.commit(finish_call, 1, result("paid"), plans)
    assert await session.contents() == ["hello", "so", "no such tool", "paid", "bad"]
    assert session.view.state.runtime_state.usage.tool_calls == 1


async def test_a_call_beyond_the_limit_is_answered_instead_of_begun() -> None:
    session = await OneSession.running(RuntimeLimits(max_tool_calls=2))
    plans = effects(READ, READ, READ)

    view = await session.answered(answer("so", *(asked() for _ in plans)), plans)

    assert [call.status for call in view.calls] == ["begun", "begun", "done"]
    assert (await session.contents())[-1] == "not run: the limit of tool calls is reached"


async def test_a_call_that_was_counted_runs_again_after_its_workers_death() -> None:
    """The limit was used by its first attempt; the outcome is that of an undisturbed run."""
    session = await OneSession.running(RuntimeLimits(max_tool_calls=1))
    plans = effects(READ)
    await session.answered(answer("so", asked()), plans)
    await session.taken_over()
    await session.commit(release_lost)
    await session.claimed()

    view = await session.commit(advance_calls, plans)

    assert [(call.status, call.attempt) for call in view.calls] == [("begun", 2)]
    assert view.state.runtime_state.usage.tool_calls == 1


@pytest.mark.parametrize("kind", [SignalKind.CANCEL, SignalKind.PAUSE])
async def test_no_call_begins_once_a_cancel_or_a_pause_is_there(kind: SignalKind) -> None:
    session = await OneSession.running()
    plans = effects(EXT, EXT)
    await session.answered(answer("so", asked(), asked()), plans)
    await session.signalled(kind)

    view = await session.commit(finish_call, 0, result("paid"), plans)

    assert [call.status for call in view.calls] == ["done", "not_begun"]
    assert next_action(view) == DrainSignals()


async def test_an_answer_that_finds_a_message_goes_on_in_another_turn() -> None:
    session = await OneSession.running()
    await session.signalled("and?")

    view = await session.answered(answer())

    assert view.state.status is SessionStatus.RUNNING
    assert (view.task.status, view.signals[0].payload) == (TaskStatus.DONE, {"text": "and?"})
    assert next_action(await session.claimed()) == CallModel()


async def test_what_may_pass_waits_as_a_row_and_fails_the_run_in_the_end() -> None:
    session = await OneSession.running()
    for retries in range(MAX_RETRIES):
        view = await session.commit(retry_later, BUSY, 0.0)
        assert (view.task.status, view.task.retries) == (TaskStatus.READY, retries + 1)
        assert view.task.not_before > session.clock.now_ms()
        session.clock.advance_ms(view.task.not_before - session.clock.now_ms())
        await session.claimed()

    view = await session.commit(retry_later, BUSY, 0.0)

    assert view.state.status is SessionStatus.FAILED
    termination = view.state.runtime_state.termination
    assert termination is not None
    assert (termination.error_type, termination.message) == ("rate_limited", "busy (after 9 attempts)")


async def test_what_will_not_pass_fails_once() -> None:
    session = await OneSession.running()

    view = await session.commit(retry_later, Failure("unauthorized", "no key", may_pass=False), 0.0)

    assert (view.task.status, view.state.status) == (TaskStatus.DONE, SessionStatus.FAILED)


@pytest.mark.parametrize("sent", [SignalKind.CANCEL, SignalKind.PAUSE, "stop, do this"])
async def test_a_signal_that_came_during_a_failed_attempt_does_not_wait_with_it(
    sent: SignalKind | str,
) -> None:
    """Else a cancel would wait out the whole Retry-After of a request that it came too late for."""
    session = await OneSession.running()
    await session.signalled(sent)

    failure = Failure("rate_limited", "busy", may_pass=True, retry_after_ms=3_600_000)
    await session.commit(retry_later, failure, 0.5)

    view = await session.claimed()
    assert view.signals == ()


async def test_a_run_at_its_limit_fails_by_name_and_takes_another_prompt() -> None:
    session = await OneSession.running(RuntimeLimits(max_model_turns=1))
    await session.answered(answer("so", asked()))
    await session.commit(finish_call, 0, result(), effects(READ))
    action = next_action(await session.claimed())
    assert isinstance(action, FailRun)
    assert "max_model_turns" in action.message

    await session.commit(fail_run, action.error_type, action.message)
    await session.signalled("again")

    assert next_action(await session.claimed()) == CallModel()


async def test_a_failed_run_leaves_no_call_without_a_result() -> None:
    session = await OneSession.running()
    plans = effects(EXT, EXT)
    await session.answered(answer("so", asked(), asked()), plans)

    view = await session.commit(fail_run, "internal_error", "boom")

    assert view.calls == ()
    assert await session.contents() == [
        "hello",
        "so",
        "interrupted: its outcome is unknown",
        "not run: the run ended",
    ]


async def test_an_answered_turn_that_is_claimed_again_ends_without_asking_the_model() -> None:
    """Its assistant entry is committed: it settles its calls and ends."""
    session = await OneSession.running()
    await session.answered(answer("so", asked()), {0: start(0, EXT, "tell")})
    await session.taken_over()
    await session.commit(release_lost)

    assert next_action(await session.claimed()) == EndTurn()


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("", {}),
        (" ", {}),
        ('{"a": 1}', {"a": 1}),
        ("[1]", "[1]"),
        ("{", "{"),
        ("null", "null"),
        ("[" * 9999, "[" * 9999),
    ],
)
async def test_arguments_that_are_no_object_stay_the_text_they_were(text: str, args: object) -> None:
    session = await OneSession.running()
    call = asked().model_copy(update={"arguments": text})

    view = await session.answered(answer("so", call))

    assert view.calls[0].args == args


async def test_equal_or_empty_ids_of_a_model_become_different_ones_of_ours() -> None:
    session = await OneSession.running()

    await session.answered(answer("so", asked(model_id=""), asked(model_id="x"), asked(model_id="x")))

    entry = (await session.store.conversation(session.session_id))[1]
    assert [(call.id, call.model_id) for call in entry.tool_calls] == [
        ("call_1_0", ""),
        ("call_1_1", "x"),
        ("call_1_2", "x"),
    ]
    told = [e for e in (await session.detail()).events if e.type is EventType.CALL_STARTED]
    assert [event.data["tool_call_id"] for event in told] == ["call_1_0", "call_1_1", "call_1_2"]
