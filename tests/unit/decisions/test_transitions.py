"""The table of a session's life."""

from __future__ import annotations

import pytest

from nonoka.decisions.transitions import (
    TERMINAL,
    TRANSITIONS,
    IllegalTransition,
    SessionEvent,
    allows,
    next_status,
)
from nonoka.records.session import SessionStatus


def reachable_from(status: SessionStatus) -> set[SessionStatus]:
    found, to_see = {status}, [status]
    while to_see:
        new = set(TRANSITIONS[to_see.pop()].values()) - found
        found |= new
        to_see.extend(new)
    return found


def test_every_status_has_its_row() -> None:
    assert set(TRANSITIONS) == set(SessionStatus)


@pytest.mark.parametrize("status", list(SessionStatus))
def test_every_status_takes_a_prompt_or_leads_to_one_that_does(status: SessionStatus) -> None:
    """A session can always take another prompt, whatever happened to it."""
    assert any(allows(after, SessionEvent.PROMPT) for after in reachable_from(status))


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_an_ended_session_takes_a_prompt_at_once(status: SessionStatus) -> None:
    assert next_status(status, SessionEvent.PROMPT) is SessionStatus.RUNNING


@pytest.mark.parametrize("status", list(SessionStatus))
def test_every_status_can_be_reached(status: SessionStatus) -> None:
    assert status in reachable_from(SessionStatus.CREATED)


@pytest.mark.parametrize("status", [SessionStatus.CREATED, SessionStatus.RUNNING, SessionStatus.PAUSED])
def test_what_has_not_ended_can_be_cancelled_and_can_fail(status: SessionStatus) -> None:
    assert next_status(status, SessionEvent.CANCEL) is SessionStatus.CANCELLED
    assert next_status(status, SessionEvent.FAIL) is SessionStatus.FAILED


@pytest.mark.parametrize("status", sorted(TERMINAL))
@pytest.mark.parametrize("event", [SessionEvent.CANCEL, SessionEvent.PAUSE, SessionEvent.FAIL])
def test_what_has_ended_does_not_end_again(status: SessionStatus, event: SessionEvent) -> None:
    assert not allows(status, event)


def test_a_cancelled_run_is_never_taken_up_again() -> None:
    assert not allows(SessionStatus.CANCELLED, SessionEvent.RETRY)
    assert not allows(SessionStatus.CANCELLED, SessionEvent.RESUME)


@pytest.mark.parametrize(
    ("status", "event"), [(s, e) for s in SessionStatus for e in SessionEvent if e not in TRANSITIONS[s]]
)
def test_what_is_not_in_the_table_is_refused_by_name(status: SessionStatus, event: SessionEvent) -> None:
    assert not allows(status, event)
    with pytest.raises(IllegalTransition, match=f"a {status.value} session takes no '{event.value}'"):
        next_status(status, event)
