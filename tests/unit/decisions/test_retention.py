"""What may go, by the pure choice."""

from __future__ import annotations

from typing import Any

import pytest

from nonoka.decisions.retention import may_go, own_directory, to_let_go
from nonoka.records.retention import Leftover, OldSession
from nonoka.records.session import SessionIndex, SessionStatus

BEFORE = 1_000


def index(**of: Any) -> SessionIndex:
    given = {
        "session_id": "s-1",
        "title": "t",
        "working_dir": "/project",
        "agent": "default",
        "model": "m",
        "created_at": 0,
        "last_active": 10,
    }
    return SessionIndex.model_validate(given | of)


def old(status: SessionStatus = SessionStatus.COMPLETED, **of: Any) -> OldSession:
    given = {"index": index(), "status": status, "busy": False, "kin_at_work": False}
    return OldSession.model_validate(given | of)


@pytest.mark.parametrize("status", list(SessionStatus))
def test_only_what_has_ended_may_go(status: SessionStatus) -> None:
    ended = {SessionStatus.COMPLETED, SessionStatus.FAILED, SessionStatus.CANCELLED}
    assert may_go(old(status), BEFORE) == (status in ended)


def test_what_is_young_or_busy_or_has_kin_at_work_stays() -> None:
    assert may_go(old(), BEFORE)
    assert not may_go(old(index=index(last_active=BEFORE)), BEFORE)
    assert not may_go(old(busy=True), BEFORE)
    assert not may_go(old(kin_at_work=True), BEFORE)


def test_only_a_directory_that_was_made_for_the_session_is_its_own() -> None:
    """A directory that a person named for a fork is theirs, whatever is it called."""
    tree = {"repository": "/project", "branch": "nonoka/s-1"}
    theirs = index(working_dir="/project.nonoka-worktrees/s-1", metadata={"worktree": tree})
    fork = index(working_dir="/project.nonoka-forks/s-1", parent="s-0")
    assert own_directory(theirs) == Leftover(
        directory="/project.nonoka-worktrees/s-1", session_id="s-1", repository="/project"
    )
    assert own_directory(fork) == Leftover(directory="/project.nonoka-forks/s-1", session_id="s-1")
    assert own_directory(index(parent="s-0")) is None
    assert own_directory(index(working_dir="/project.nonoka-forks/s-0")) is None
    assert own_directory(index(working_dir="/project.nonoka-forks/mine", parent="s-0")) is None


def test_no_more_snapshots_are_let_go_than_are_spare() -> None:
    def number(size: int, *, spare: int = 50, done_before: int = 0) -> int:
        return to_let_go(size=size, most=100, kept=100, spare=spare, done_before=done_before)

    assert number(100) == 0
    assert number(101) == 1
    assert number(200) == 50
    assert number(200, spare=3) == 3
    assert number(200, spare=0) == 0
    assert number(101, done_before=20) == 20
