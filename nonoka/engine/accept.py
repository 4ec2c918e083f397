"""Every way into a session: a new one, a next message, a person taking it up again."""

from __future__ import annotations

from pathlib import Path

from nonoka.agents.plain_value import clean_text
from nonoka.decisions import turn
from nonoka.decisions.titles import title_of
from nonoka.engine.deciding import deciding
from nonoka.errors import KeyTaken, UsageError
from nonoka.ports.clock import Clock
from nonoka.ports.store import SessionStore
from nonoka.records.base import Record
from nonoka.records.commit import Committed, NewSession, NewSignal
from nonoka.records.event import EventType, NewEvent
from nonoka.records.runtime import RuntimeLimits, SessionRuntimeState
from nonoka.records.session import SessionIndex, SessionState
from nonoka.records.signal import SignalKind


class SessionRequest(Record):
    """What a new session is asked to be; names are as they are stored (files absolute)."""

    prompt: str
    agent: str
    model: str
    working_dir: Path
    limits: RuntimeLimits = RuntimeLimits()
    parent: str | None = None
    enqueue_key: str | None = None


async def create_session(
    store: SessionStore, clock: Clock, request: SessionRequest, *, claim_by: str | None = None
) -> tuple[str, Committed | None]:
    """The session is stored with its prompt and its first task; returns its id.

    From here on nothing of it is lost. With ``claim_by`` its first turn is claimed in the same transaction.
    Where a session was created under the request's ``enqueue_key`` before, that one's id is returned, and
    nothing is stored or claimed. Raises UsageError.
    """
    session_id, now, prompt = clock.new_id(), clock.now_ms(), clean_text(request.prompt)
    working_dir = str(request.working_dir)
    if clean_text(working_dir) != working_dir:
        raise UsageError(f"the directory {working_dir!r} has a name that is no UTF-8; work in another one")
    new = NewSession(
        index=SessionIndex(
            session_id=session_id,
            title=title_of(prompt),
            working_dir=working_dir,
            agent=request.agent,
            model=request.model,
            created_at=now,
            last_active=now,
            parent=request.parent,
            metadata={"enqueue_key": request.enqueue_key} if request.enqueue_key is not None else {},
        ),
        state=SessionState(
            session_id=session_id, start_time=now, runtime_state=SessionRuntimeState(limits=request.limits)
        ),
        prompt=prompt,
        events=(
            NewEvent(
                type=EventType.SESSION_CREATED,
                data={"agent": request.agent, "model": request.model, "working_dir": working_dir},
            ),
            NewEvent(type=EventType.PROMPT_ACCEPTED, data={"position": 0}),
        ),
    )
    try:
        return session_id, await store.create_session(new, claim_by=claim_by, decide=deciding(turn.begin))
    except KeyTaken as taken:
        return taken.session_id, None


async def send_message(store: SessionStore, session_id: str, text: str) -> None:
    """The message is in the session's inbox, and a task will read it."""
    await store.add_signal(session_id, NewSignal(kind=SignalKind.MESSAGE, payload={"text": clean_text(text)}))


async def send_signal(store: SessionStore, session_id: str, kind: SignalKind, *, now: bool = False) -> None:
    """The signal is in the session's inbox, and what must heed it will.

    A pause takes effect after the call in flight; with ``now`` that call, or model request, is cut off.
    """
    await store.add_signal(session_id, NewSignal(kind=kind, payload={"now": "true"} if now else {}))
