"""Agents that could not be loaded are tried again."""

from __future__ import annotations

from nonoka.engine.unloadable import FIRST_WAIT_MS, LONGEST_WAIT_MS, UnloadableAgents
from tests.support.manual_clock import ManualClock


def test_an_agent_that_failed_to_load_is_left_alone_for_a_while_and_then_tried_again() -> None:
    """A file that was saved half-written must not stop its sessions for ever."""
    clock = ManualClock()
    agents = UnloadableAgents(clock)
    agents.note("a.py:x")
    assert agents.names() == ["a.py:x"]
    clock.advance_ms(FIRST_WAIT_MS)
    assert agents.names() == []


def test_the_wait_doubles_up_to_a_bound_and_starts_anew_once_it_was_loaded() -> None:
    """So a broken file costs little, and a mended one is picked up soon."""
    clock = ManualClock()
    agents = UnloadableAgents(clock)
    for _ in range(20):
        agents.note("a.py:x")
    clock.advance_ms(LONGEST_WAIT_MS - 1)
    assert agents.names() == ["a.py:x"]
    clock.advance_ms(1)
    assert agents.names() == []
    agents.forget("a.py:x")
    agents.note("a.py:x")
    clock.advance_ms(FIRST_WAIT_MS)
    assert agents.names() == []
