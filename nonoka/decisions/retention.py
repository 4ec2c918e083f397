"""Which sessions, snapshots and directories may go."""

from __future__ import annotations

from math import ceil
from pathlib import PurePath

from nonoka.decisions.transitions import TERMINAL
from nonoka.records.retention import Leftover, OldSession
from nonoka.records.session import SessionIndex

DAY_MS = 86_400_000
#: A snapshot is taken before the commit that records it: one that nobody has on record may be about to be.
RECORDED_WITHIN_MS = 3_600_000
#: Beside the workspace that a fork was made of lies a directory of this name, if nobody named another.
FORKS = ".nonoka-forks"


def old_before(now: int, keep_days: float) -> int:
    """Until when (ms UTC) a session must have been left alone to be old."""
    return now - round(keep_days * DAY_MS)


def recorded_by(now: int) -> int:
    """Snapshots that were taken until then (ms UTC) are on record by now, or never will be."""
    return now - RECORDED_WITHIN_MS


def may_go(session: OldSession, before: int) -> bool:
    """Whether an ended session is old, at rest, and nobody's parent or child that is still at work."""
    return (
        session.status in TERMINAL
        and session.index.last_active < before
        and not session.busy
        and not session.kin_at_work
    )


def own_directory(index: SessionIndex) -> Leftover | None:
    """The directory that was made for this session, and that no other one was meant to work in."""
    place = PurePath(index.working_dir)
    if index.worktree is not None:
        repository = index.worktree.repository
        return Leftover(directory=str(place), session_id=index.session_id, repository=repository)
    if index.parent is not None and place.name == index.session_id and place.parent.name.endswith(FORKS):
        return Leftover(directory=str(place), session_id=index.session_id)
    return None


def to_let_go(*, size: int, most: int, kept: int, spare: int, done_before: int) -> int:
    """How many of the ``spare`` oldest snapshots go, where all ``kept`` take ``size`` and may take ``most`` bytes.

    As many as would do if each took the same, and at least as many as were let go before in vain: snapshots share
    what didn't change, so that the first of them may free nothing.
    """
    if size <= most or not spare:
        return 0
    share = ceil(kept * (size - most) / size)
    return min(spare, max(share, done_before, 1))
