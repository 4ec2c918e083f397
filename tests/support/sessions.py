"""What tests make sessions of: new ones, answers, calls, signals; and decisions ready for a store."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Concatenate, ParamSpec

from nonoka.decisions.draft import Draft
from nonoka.decisions.turn import CallPlans, begin, record_answer
from nonoka.ports.clock import Clock
from nonoka.ports.store import Decide, Store
from nonoka.records.commit import Changes, Claim, Committed, NewSession, NewSignal, SessionView
from nonoka.records.event import EventType, NewEvent
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.model import ModelAnswer, RequestedCall
from nonoka.records.runtime import RuntimeLimits, RuntimeUsage, SessionRuntimeState
from nonoka.records.session import SessionIndex, SessionState
from nonoka.records.signal import SignalKind
from nonoka.records.task import Worker
from nonoka.records.tool import CallResult, CallStart, Effect, OnUncertain
from nonoka.records.workspace import Snapshot

P = ParamSpec("P")


def new_session(
    clock: Clock,
    prompt: str = "hello",
    *,
    session_id: str | None = None,
    agent: str = "default",
    limits: RuntimeLimits | None = None,
) -> NewSession:
    """A session to be created now."""
    session_id, now = session_id or clock.new_id(), clock.now_ms()
    return NewSession(
        index=SessionIndex(
            session_id=session_id,
            title=prompt[:60],
            working_dir="/somewhere",
            agent=agent,
            model="script:none.yaml",
            created_at=now,
            last_active=now,
        ),
        state=SessionState(
            session_id=session_id,
            start_time=now,
            runtime_state=SessionRuntimeState(limits=limits or RuntimeLimits()),
        ),
        prompt=prompt,
        events=(NewEvent(type=EventType.SESSION_CREATED, data={"prompt": prompt}),),
    )


def asked(name: str = "look", model_id: str = "", **args: object) -> RequestedCall:
    """A call as a model asks for it."""
    return RequestedCall(model_id=model_id, name=name, arguments=json.dumps(args))


def answer(text: str = "done", *calls: RequestedCall, tokens: int = 10) -> ModelAnswer:
    """What a model answers: ``tokens`` in and as many out."""
    return ModelAnswer(
        text=text, calls=calls, usage=RuntimeUsage(input_tokens=tokens, output_tokens=tokens), model="scripted"
    )


def start(place: int = 0, effect: Effect = Effect.READ_ONLY, on_uncertain: OnUncertain = "replay") -> CallStart:
    """That the call at this place is to begin."""
    return CallStart(place=place, effect=effect, on_uncertain=on_uncertain)


def with_snapshot(plans: CallPlans, place: int) -> CallPlans:
    """The same plans; the one at this place may begin, for its workspace is kept."""
    plan = plans[place]
    if not isinstance(plan, CallStart):
        raise TypeError(f"the call at {place} doesn't begin")
    kept = plan.model_copy(update={"snapshot": Snapshot(snapshot_id=f"snapshot-{place}", repository="as it was")})
    return {**plans, place: kept}


def result(content: str = "seen", error_type: str | None = None) -> CallResult:
    """What a call brought."""
    return CallResult(content=content, error_type=error_type)


def user_entry(position: int, content: str = "hello") -> MemoryEntry:
    """A user's message at this position."""
    return MemoryEntry(position=position, role=MemoryRole.USER, content=content)


def message(text: str = "and then?") -> NewSignal:
    """A user's next message."""
    return NewSignal(kind=SignalKind.MESSAGE, payload={"text": text})


def signal(kind: SignalKind) -> NewSignal:
    """A signal without a payload."""
    return NewSignal(kind=kind)


def a_worker(worker_id: str = "w1", clock: Clock | None = None) -> Worker:
    """A worker's row."""
    now = clock.now_ms() if clock else 0
    return Worker(
        worker_id=worker_id,
        kind="worker",
        pid=4711,
        pid_started=99,
        boot_id="boot",
        pid_namespace="pid:[1]",
        uid=1000,
        lock_path=f"/somewhere/{worker_id}.lock",
        lock_inode=7,
        started_at=now,
        seen_at=now,
    )


def deciding(step: Callable[Concatenate[Draft, P], object], *args: P.args, **kwargs: P.kwargs) -> Decide:
    """A decision as the store takes it: this step, noted in a draft."""

    def decide(view: SessionView) -> Changes:
        draft = Draft(view)
        step(draft, *args, **kwargs)
        return draft.changes()

    return decide


def answering(given: ModelAnswer, plans: CallPlans | None = None) -> Decide:
    """The decision to record this answer; without plans its calls begin as reading ones."""
    default = {place: start(place) for place in range(len(given.calls))}
    return deciding(record_answer, given, default if plans is None else plans)


def writing(changes: Changes) -> Decide:
    """The decision to write just this, whatever is there."""
    return lambda view: changes


async def created(
    store: Store, clock: Clock, prompt: str = "hello", *, session_id: str | None = None, agent: str = "default"
) -> str:
    """A session is stored, its first task ready; returns its id."""
    new = new_session(clock, prompt, session_id=session_id, agent=agent)
    await store.create_session(new)
    return new.index.session_id


async def claimed(
    store: Store, clock: Clock, worker_id: str = "w1", *, decide: Decide | None = None
) -> tuple[str, Claim]:
    """A session is stored and its first turn runs for this worker; returns its id and the claim."""
    session_id = await created(store, clock)
    taken = await take(store, session_id, worker_id, decide=decide)
    return session_id, taken.claim


async def take(store: Store, session_id: str, worker_id: str = "w1", *, decide: Decide | None = None) -> Committed:
    """The session's ready task runs for this worker; there must be one."""
    taken = await store.claim(worker_id, decide or deciding(begin), session_id=session_id)
    assert taken is not None, f"no task of {session_id!r} is due"
    return taken
