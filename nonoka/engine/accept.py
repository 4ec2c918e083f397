"""Every way into a session: a new one, a next message, a person taking it up again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nonoka.agents.plain_value import clean_text
from nonoka.decisions import turn
from nonoka.decisions.titles import title_of
from nonoka.engine.deciding import deciding
from nonoka.errors import KeyTaken, UsageError
from nonoka.ports.clock import Clock
from nonoka.ports.store import SessionStore
from nonoka.ports.workspace import Worktrees
from nonoka.records.base import JsonObject, Record
from nonoka.records.commit import Committed, NewSession, NewSignal
from nonoka.records.event import EventType, NewEvent
from nonoka.records.runtime import RuntimeLimits, SessionRuntimeState
from nonoka.records.session import SessionIndex, SessionState
from nonoka.records.signal import SignalKind
from nonoka.records.workspace import Isolation, Worktree


class SessionRequest(Record):
    """What a new session is asked to be; names are as they are stored (files absolute)."""

    prompt: str
    agent: str
    model: str
    working_dir: Path
    limits: RuntimeLimits = RuntimeLimits()
    parent: str | None = None
    enqueue_key: str | None = None
    isolation: Isolation = "none"


async def create_session(
    store: SessionStore,
    clock: Clock,
    request: SessionRequest,
    *,
    claim_by: str | None = None,
    worktrees: Worktrees | None = None,
) -> tuple[str, Committed | None]:
    """The session is stored with its prompt and its first task; returns its id.

    From here on nothing of it is lost. With ``claim_by`` its first turn is claimed in the same transaction.
    Where a session was created under the request's ``enqueue_key`` before, that one's id is returned, and
    nothing is stored or claimed. With isolation it works in a working tree of its own, made by ``worktrees``.
    Raises UsageError, WorkspaceError.
    """
    session_id, now, prompt = clock.new_id(), clock.now_ms(), clean_text(request.prompt)
    working_dir = resolved(request.working_dir)
    metadata: JsonObject = {"enqueue_key": request.enqueue_key} if request.enqueue_key is not None else {}
    isolated = None
    if request.isolation == "worktree":
        isolated = await _isolated(worktrees, working_dir, session_id)
        metadata["worktree"] = isolated.worktree.model_dump()
        working_dir = str(isolated.place / isolated.inner)
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
            metadata=metadata,
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
    if isolated is not None:
        await isolated.make()
    try:
        return session_id, await store.create_session(new, claim_by=claim_by, decide=deciding(turn.begin))
    except BaseException as error:
        if isolated is not None:
            await isolated.worktrees.remove(isolated.place)
        if isinstance(error, KeyTaken):
            return error.session_id, None
        raise


def resolved(working_dir: Path) -> str:
    """The workspace's path as it is stored: absolute, links followed. Raises UsageError for one that can't be."""
    found = str(working_dir.resolve())
    if clean_text(found) != found:
        raise UsageError(f"the directory {found!r} has a name that is no UTF-8; work in another one")
    return found


def worktree_of(repository: str, session_id: str) -> Worktree:
    """The branch of a session that works in a working tree of its own."""
    return Worktree(repository=repository, branch=f"nonoka/{session_id}")


def worktree_path(outermost: Path, session_id: str) -> Path:
    """Where that working tree lies: beside the repository and those around it, so that it is in none of them."""
    return outermost.with_name(f"{outermost.name}.nonoka-worktrees") / session_id


@dataclass(frozen=True, slots=True)
class _Isolated:
    """A working tree to be made at ``place``; the session works in its directory ``inner``."""

    worktrees: Worktrees
    worktree: Worktree
    place: Path
    inner: str

    async def make(self) -> None:
        repository, branch = Path(self.worktree.repository), self.worktree.branch
        await self.worktrees.make(repository, self.place, branch, inner=self.inner)


async def _isolated(worktrees: Worktrees | None, working_dir: str, session_id: str) -> _Isolated:
    if worktrees is None:
        raise UsageError("working trees can't be made here")
    directory = Path(working_dir)
    root = await worktrees.root(directory)
    place = worktree_path(await worktrees.outermost(root), session_id)
    return _Isolated(worktrees, worktree_of(str(root), session_id), place, str(directory.relative_to(root)))


async def answer_call(
    store: SessionStore, session_id: str, call_id: str, what: Literal["again", "skip", "result"], text: str = ""
) -> None:
    """What a person says of a call in doubt is in the session's inbox."""
    payload = {"call": call_id, "what": what, "text": clean_text(text)}
    await store.add_signal(session_id, NewSignal(kind=SignalKind.ANSWER, payload=payload))


async def ask_rollback(store: SessionStore, session_id: str, *, to: int | None, force: bool) -> int:
    """The session's task brings conversation and files back to that turn; None undoes the last time.

    Returns the signal's place in the inbox.
    """
    payload = ({} if to is None else {"to": str(to)}) | ({"force": "true"} if force else {})
    return await store.add_signal(session_id, NewSignal(kind=SignalKind.ROLLBACK, payload=payload))


async def send_message(store: SessionStore, session_id: str, text: str) -> None:
    """The message is in the session's inbox, and a task will read it."""
    await store.add_signal(session_id, NewSignal(kind=SignalKind.MESSAGE, payload={"text": clean_text(text)}))


async def send_signal(store: SessionStore, session_id: str, kind: SignalKind, *, now: bool = False) -> None:
    """The signal is in the session's inbox, and what must heed it will.

    A pause takes effect after the call in flight; with ``now`` that call, or model request, is cut off.
    """
    await store.add_signal(session_id, NewSignal(kind=kind, payload={"now": "true"} if now else {}))
