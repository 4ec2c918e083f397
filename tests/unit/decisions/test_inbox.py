"""What signals do, in which order, and in whose turn."""

from __future__ import annotations

import pytest

from nonoka.decisions.inbox import CANCELLED_RESULT, CUT_OFF_RESULT
from nonoka.decisions.limits import exceeded
from nonoka.decisions.recovery import hand_back
from nonoka.decisions.rollback import refuse, reserve
from nonoka.decisions.turn import (
    AdvanceCalls,
    CallModel,
    DrainSignals,
    FailRun,
    Failure,
    ReserveWorkspace,
    advance_calls,
    attend,
    end_turn,
    fail_run,
    finish_call,
    next_action,
    retry_later,
)
from nonoka.records.runtime import RuntimeLimits
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.task import TaskStatus
from nonoka.records.tool import Effect
from tests.support.one_session import OneSession
from tests.support.sessions import answer, asked, result, start

CANCEL, PAUSE, RESUME, RETRY = SignalKind.CANCEL, SignalKind.PAUSE, SignalKind.RESUME, SignalKind.RETRY
HOPELESS = Failure("unauthorized", "no key", may_pass=False)


async def test_a_message_while_calls_dangle_enters_after_their_results() -> None:
    session = await OneSession.running()
    await session.answered(answer("look", asked("look"), asked("look")))
    await session.signalled("also this")
    plans = {0: start(0), 1: start(1)}
    for place in range(2):
        await session.commit(finish_call, place, result(f"r{place}"), plans)

    view = await session.claimed()

    assert await session.contents() == ["hello", "look", "r0", "r1", "also this"]
    assert view.signals == ()
    assert next_action(view) == CallModel()


async def test_messages_enter_in_their_order_whatever_comes_between() -> None:
    session = await OneSession.running()
    await session.signalled("one", PAUSE)
    await session.commit(attend)
    assert session.view.state.status is SessionStatus.PAUSED
    assert await session.contents() == ["hello"]

    await session.signalled("two", PAUSE, "three", RESUME, "four")
    view = await session.claimed()

    assert view.state.status is SessionStatus.RUNNING
    assert await session.contents() == ["hello", "one", "two", "three", "four"]


async def test_a_pause_and_its_resume_in_one_inbox_leave_the_session_running() -> None:
    session = await OneSession.running()
    await session.signalled(PAUSE, RESUME)

    view = await session.commit(attend)

    assert view.state.status is SessionStatus.RUNNING
    assert view.task.status is TaskStatus.RUNNING
    assert view.signals == ()


@pytest.mark.parametrize("stop", [PAUSE, CANCEL])
async def test_no_call_begins_once_a_pause_or_cancel_is_there(stop: SignalKind) -> None:
    """Not even where it came in between the look at the session and the commit that would begin one."""
    session = await OneSession.running()
    plans = {0: start(0), 1: start(1, Effect.EXTERNAL)}
    await session.answered(answer("look", asked("look"), asked("pay")), plans)
    await session.commit(hand_back)
    assert next_action(await session.claimed()) == AdvanceCalls()
    await session.signalled(stop)

    view = await session.commit(advance_calls, plans)

    assert [call.status for call in view.calls] == ["not_begun", "not_begun"]
    assert next_action(view) == DrainSignals()


async def test_a_cancel_gives_every_call_its_result_and_none_runs() -> None:
    """What was cut off is told apart from what never began."""
    session = await OneSession.running()
    plans = {0: start(0, Effect.EXTERNAL), 1: start(1, Effect.EXTERNAL)}
    await session.answered(answer("pay", asked("pay"), asked("pay")), plans)
    await session.signalled("never mind", CANCEL)

    view = await session.commit(attend)

    assert view.state.status is SessionStatus.CANCELLED
    assert view.task.status is TaskStatus.DONE
    assert view.state.runtime_state.cancelled_at == session.clock.now_ms()
    assert await session.contents() == ["hello", "pay", CUT_OFF_RESULT, CANCELLED_RESULT, "never mind"]
    assert (await session.store.standing(session.session_id)).at_rest


async def test_a_call_that_was_cut_off_before_the_cancel_is_never_called_not_run() -> None:
    """It was settled, to be run again after the pause; what its first attempt did nobody knows."""
    session = await OneSession.running()
    plans = {0: start(0, Effect.EXTERNAL), 1: start(1, Effect.EXTERNAL)}
    await session.answered(answer("pay", asked("pay"), asked("pay")), plans)
    await session.signalled(PAUSE)
    view = await session.commit(hand_back)
    assert [call.status for call in view.calls] == ["not_begun", "not_begun"]
    await session.signalled(CANCEL)

    await session.claimed()

    assert (await session.contents())[2:] == [CUT_OFF_RESULT, CANCELLED_RESULT]


async def test_a_message_after_a_cancel_starts_a_run_in_a_turn_of_its_own() -> None:
    """The cancelled turn's number names calls already: another answer under it would repeat their keys."""
    session = await OneSession.running()
    await session.answered(answer("pay", asked("pay")), {0: start(0, Effect.EXTERNAL)})
    await session.signalled(CANCEL, "something else")

    view = await session.commit(attend)

    assert view.state.status is SessionStatus.CANCELLED
    assert (view.task.key, view.task.status) == ("turn:1", TaskStatus.DONE)
    view = await session.claimed()
    assert (view.task.key, view.state.status) == ("turn:2", SessionStatus.RUNNING)
    assert (await session.contents())[-1] == "something else"
    assert view.state.runtime_state.usage.model_turns == 0
    await session.answered(answer("look", asked("look")))
    entries = await session.store.conversation(session.session_id)
    ids = [call.id for entry in entries for call in entry.tool_calls]
    assert ids == ["call_1_0", "call_2_0"]


@pytest.mark.parametrize("late", [CANCEL, PAUSE])
async def test_what_is_late_for_an_ended_run_does_not_hit_the_message_after_it(late: SignalKind) -> None:
    session = await OneSession.running()
    await session.signalled(late, "go on")
    await session.commit(retry_later, HOPELESS, 0.0)
    assert session.view.state.status is SessionStatus.FAILED

    view = await session.claimed()

    assert view.state.status is SessionStatus.RUNNING
    assert await session.contents() == ["hello", "go on"]


async def test_a_retry_takes_the_failed_run_up_with_what_it_has_used() -> None:
    """The run has no end any more, and its budget goes on."""
    session = await OneSession.running()
    await session.answered(answer("look", asked("look")))
    await session.commit(finish_call, 0, result(), {0: start(0)})
    await session.claimed()
    await session.commit(retry_later, HOPELESS, 0.0)
    failed = session.view.state
    assert failed.end_time == session.clock.now_ms()

    session.clock.advance_ms(1_000)
    await session.signalled(RETRY)
    view = await session.claimed()

    assert view.state.status is SessionStatus.RUNNING
    assert view.state.runtime_state.usage.model_turns == 1
    assert view.state.runtime_state.termination is None
    assert view.state.end_time is None
    assert view.state.runtime_state.started_at == failed.runtime_state.started_at


async def test_a_new_run_starts_its_budget_anew_and_the_sessions_goes_on() -> None:
    session = await OneSession.running()
    await session.answered(answer("done", tokens=5))
    session.clock.advance_ms(50)
    await session.signalled("more")

    view = await session.claimed()

    runtime = view.state.runtime_state
    assert (runtime.usage.model_turns, runtime.usage.input_tokens) == (0, 0)
    assert (runtime.session_usage.model_turns, runtime.session_usage.input_tokens) == (1, 5)
    assert runtime.started_at == session.clock.now_ms()
    assert view.state.end_time is None


async def test_time_spent_paused_is_not_used() -> None:
    session = await OneSession.running()
    session.clock.advance_ms(100)
    await session.signalled(PAUSE)
    await session.commit(attend)
    session.clock.advance_ms(60_000)
    await session.signalled(RESUME)
    await session.claimed()
    session.clock.advance_ms(11)

    await session.answered(answer())

    assert session.view.state.runtime_state.usage.active_ms == 111


async def test_time_spent_paused_does_not_count_against_the_wall_limit() -> None:
    """The deadline moves on by as long as the session stood still."""
    session = await OneSession.running(RuntimeLimits(max_wall_s=10))
    deadline = session.view.state.runtime_state.deadline_at
    assert deadline == session.clock.now_ms() + 10_000
    session.clock.advance_ms(9_000)
    await session.signalled(PAUSE)
    await session.commit(attend)
    assert session.view.state.runtime_state.deadline_at is None
    session.clock.advance_ms(3_600_000)
    await session.signalled(RESUME)

    view = await session.claimed()

    assert view.state.runtime_state.deadline_at == deadline + 3_600_000
    assert next_action(view) == CallModel()
    session.clock.advance_ms(1_000)
    assert exceeded(view.state.runtime_state, session.clock.now_ms()) == "max_wall_s"


@pytest.mark.parametrize("ended", [SessionStatus.COMPLETED, SessionStatus.FAILED, SessionStatus.CANCELLED])
async def test_a_message_to_an_ended_session_starts_a_run_with_fresh_limits(ended: SessionStatus) -> None:
    """The run before it had used up all it had; that was its own."""
    session = await OneSession.running(RuntimeLimits(max_model_turns=1, max_tool_calls=1, max_wall_s=10))
    await session.answered(answer("look", asked("look")))
    await session.commit(finish_call, 0, result(), {0: start(0)})
    session.clock.advance_ms(10_000)
    match ended:
        case SessionStatus.COMPLETED:
            await session.claimed()
            await session.answered(answer("done"))
        case SessionStatus.FAILED:
            limit = next_action(await session.claimed())
            assert isinstance(limit, FailRun)
            await session.commit(fail_run, limit.error_type, limit.message)
        case _:
            await session.claimed()
            await session.signalled(CANCEL)
            await session.commit(attend)
    assert session.view.state.status is ended
    session.clock.advance_ms(60_000)
    await session.signalled("go on")

    view = await session.claimed()

    assert view.state.status is SessionStatus.RUNNING
    assert next_action(view) == CallModel()
    runtime = view.state.runtime_state
    assert (runtime.usage.model_turns, runtime.usage.tool_calls, runtime.usage.active_ms) == (0, 0, 0)
    assert runtime.deadline_at == session.clock.now_ms() + 10_000
    assert runtime.cancelled_at is None
    await session.answered(answer("look", asked("look")))
    assert [call.status for call in session.view.calls] == ["begun"]


async def test_a_signal_without_use_ends_a_turn_without_asking_the_model() -> None:
    session = await OneSession.running()
    await session.signalled(RESUME)
    await session.answered(answer())
    assert session.view.state.status is SessionStatus.RUNNING

    view = await session.claimed()
    assert next_action(view) != CallModel()
    view = await session.commit(end_turn)

    assert view.state.status is SessionStatus.COMPLETED
    assert await session.contents() == ["hello", "done"]


async def test_a_message_waits_for_a_rollback_that_was_asked_for_before_it() -> None:
    """However often it is asked for: else the session went on with a rollback to do, and ended without a task."""
    session = await OneSession.running()
    await session.signalled(SignalKind.CANCEL)
    await session.commit(attend)
    await session.signalled(SignalKind.ROLLBACK, "and now?", SignalKind.ROLLBACK)
    view = await session.claimed()

    assert view.state.status is SessionStatus.CANCELLED
    assert view.state.runtime_state.rollback is not None
    assert next_action(view) == ReserveWorkspace()
    await session.commit(reserve)
    await session.commit(refuse, "there is none")
    view = await session.claimed()
    assert view.state.status is SessionStatus.RUNNING
    assert (await session.contents())[-1] == "and now?"
