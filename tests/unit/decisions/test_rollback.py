"""A rollback by hand, as decisions: where it may lead, and that it is done whole once it has begun."""

from __future__ import annotations

from nonoka.decisions.rollback import note_before, reserve, rolled_back, target_of, undo_target
from nonoka.decisions.turn import RollBack, attend, finish_call, next_action
from nonoka.records.commit import NewSignal
from nonoka.records.event import EventType
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.tool import Effect
from tests.support.one_session import OneSession
from tests.support.sessions import answer, asked, result, start


def rollback_to(turn: int) -> NewSignal:
    """A person asks for it."""
    return NewSignal(kind=SignalKind.ROLLBACK, payload={"to": str(turn)})


async def paused_in_turn_two() -> OneSession:
    """Turn 1 has ended; turn 2 has asked for two calls, of which one has its result."""
    session = await OneSession.running()
    plans = {0: start(0, Effect.EXTERNAL), 1: start(1, Effect.EXTERNAL)}
    await session.answered(answer("one", asked()), plans)
    await session.commit(finish_call, 0, result("done"), plans)
    await session.claimed()
    await session.answered(answer("two", asked(), asked()), plans)
    await session.signalled(SignalKind.PAUSE)
    await session.commit(finish_call, 0, result("done"), plans)
    await session.commit(attend)
    assert session.view.state.status is SessionStatus.PAUSED
    return session


async def test_a_turn_whose_calls_have_no_results_is_no_target() -> None:
    session = await paused_in_turn_two()
    entries = await session.store.conversation(session.session_id)
    found = target_of(1, entries, [])
    assert found is not None
    assert found.position == 3
    assert target_of(2, entries, []) is None
    assert target_of(3, entries, []) is None


async def test_a_rollback_that_has_begun_is_done_before_a_signal_is_heeded() -> None:
    """A cancel that comes meanwhile has its effect afterwards, in a task of its own."""
    session = await paused_in_turn_two()
    await session.store.add_signal(session.session_id, rollback_to(1))
    await session.claimed()
    await session.commit(reserve)
    view = await session.commit(note_before, "what was there", 1)
    await session.signalled(SignalKind.CANCEL)
    request = view.state.runtime_state.rollback
    assert request is not None
    view = await session.commit(lambda _draft: None)
    assert next_action(view) == RollBack(request)
    entries = await session.store.conversation(session.session_id)
    target = target_of(1, entries, [])
    assert target is not None
    await session.commit(rolled_back, target, entries[: target.position], None)
    view = await session.claimed()
    assert view.state.status is SessionStatus.CANCELLED
    assert len(await session.contents()) == target.position


async def test_an_undo_says_the_turn_that_it_leads_to() -> None:
    """Also where nothing was withdrawn, as by an undo itself."""
    session = await paused_in_turn_two()
    await session.store.add_signal(session.session_id, rollback_to(1))
    await session.claimed()
    await session.commit(reserve)
    entries = await session.store.conversation(session.session_id)
    target = target_of(1, entries, [])
    assert target is not None
    await session.commit(rolled_back, target, entries[: target.position], None)
    events = (await session.detail()).events
    assert events[-1].type is EventType.SESSION_ROLLED_BACK
    kept = entries[: target.position]
    for withdrawn, turn in ((entries[target.position :], 2), ([], 1)):
        undo = undo_target(events, withdrawn, kept)
        assert undo is not None
        assert undo.turn == turn
