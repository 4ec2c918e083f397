"""What a session's status means for an exit status and for what a person can do next."""

from __future__ import annotations

from collections.abc import Iterable

from nonoka.entrypoints.cli.failures import FAILED, say
from nonoka.ports.store import TaskStore
from nonoka.records.session import SessionState, SessionStatus

PAUSED = 3

_EXIT = {
    SessionStatus.COMPLETED: 0,
    SessionStatus.FAILED: FAILED,
    SessionStatus.CANCELLED: FAILED,
    SessionStatus.PAUSED: PAUSED,
}


#: A plan takes no prompt.
_PLAN_NEXT = {
    SessionStatus.PAUSED: "nonoka sessions resume {session_id} --here",
    SessionStatus.FAILED: "nonoka sessions retry {session_id} --here",
    SessionStatus.COMPLETED: "nonoka sessions show {session_id}",
    SessionStatus.CANCELLED: "nonoka sessions show {session_id}",
}


def exit_status(status: SessionStatus) -> int:
    """0 done, 1 failed or cancelled, 3 paused; one that still runs has not failed: 0."""
    return _EXIT.get(status, 0)


def goes_on_from(status: SessionStatus) -> bool:
    """Whether it stands still here until a signal: with a task to be done it has one that no worker has read."""
    return status in (SessionStatus.PAUSED, SessionStatus.FAILED)


def gravest(statuses: Iterable[int]) -> int:
    """Of several exit statuses the one that needs someone most: failed, then paused, then done."""
    return max(statuses, key=(0, PAUSED, FAILED).index, default=0)


async def say_if_nobody_works(store: TaskStore) -> None:
    """If no process works on this store's sessions, stderr says how to start one."""
    if all(worker.kind == "sweep" for worker in await store.workers()):
        say("nonoka: no worker is running on this store; start one with: nonoka worker")


def next_of(state: SessionState) -> str:
    """The commands that lead on from this state, as one line."""
    ended = state.runtime_state.termination
    if state.status is SessionStatus.PAUSED and ended is not None and ended.error_type == "needs_answer":
        # A resume would not do: what a person was asked stays asked.
        return f"nonoka sessions answer {state.session_id} --again, or --skip, or --result TEXT"
    return next_steps(state.session_id, state.status, plan=state.current_plan is not None)


def next_steps(session_id: str, status: SessionStatus, *, plan: bool = False) -> str:
    """The commands that lead on from this status, as one line; ``plan``: the session runs one."""
    if plan and status in _PLAN_NEXT:
        return _PLAN_NEXT[status].format(session_id=session_id)
    prompt = f'nonoka run --session {session_id} "..."'
    match status:
        case SessionStatus.PAUSED:
            return f"nonoka sessions resume {session_id} --here, or: {prompt}"
        case SessionStatus.FAILED:
            return f"nonoka sessions retry {session_id} --here, or: {prompt}"
        case SessionStatus.COMPLETED | SessionStatus.CANCELLED:
            return prompt
        case _:
            here = f"nonoka sessions resume {session_id} --here"
            return f"a worker takes it up (nonoka worker), or work on it here: {here}"
