"""A call whose time is over and that only the end of its worker stops."""

from __future__ import annotations

from nonoka.decisions.overdue import note_overdue
from nonoka.decisions.recovery import release_lost
from nonoka.records.event import EventType
from nonoka.records.tool import Effect
from tests.support.one_session import OneSession
from tests.support.sessions import answer, asked, start


async def test_an_overdue_call_is_a_timeout_once_its_worker_is_gone_and_nobody_died_of_it() -> None:
    """Whatever its ``on_uncertain`` says: its outcome is known."""
    session = await OneSession.running()
    plans = {0: start(effect=Effect.EXTERNAL, on_uncertain="fail")}
    await session.answered(answer("", asked("work")), plans)
    view = await session.commit(note_overdue, 0, 1.5)
    assert view.calls[0].overdue_s == 1.5
    await session.taken_over()
    view = await session.commit(release_lost)
    assert (view.calls[0].status, view.task.deaths) == ("done", 0)
    detail = await session.detail()
    assert detail.state.memory_entries[-1].content.startswith("work was ended after its 1.5 s")
    assert [e.data["error_type"] for e in detail.events if e.type is EventType.CALL_FINISHED] == ["timeout"]
    assert EventType.CALL_SETTLED not in [e.type for e in detail.events]
