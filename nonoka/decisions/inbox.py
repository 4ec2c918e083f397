"""What signals do to a session: applied in their order, inside the commit that marks them drained.

A message is held back while calls dangle (results come before any prompt) and while the session is paused;
it stays undrained until then.
"""

from __future__ import annotations

from nonoka.decisions.draft import Draft
from nonoka.decisions.rollback import ask_rollback, drop_rollback
from nonoka.decisions.settling import known_of
from nonoka.decisions.transitions import TERMINAL, SessionEvent, allows
from nonoka.records.commit import SessionView
from nonoka.records.event import EventType
from nonoka.records.memory import MemoryRole
from nonoka.records.runtime import RuntimeUsage
from nonoka.records.session import SessionStatus
from nonoka.records.signal import Signal, SignalKind
from nonoka.records.tool import CallResult

CANCELLED_RESULT = "not run: the session was cancelled"
SKIPPED = CallResult(
    content="interrupted: whether it took effect is not known; a person decided to go on without it",
    error_type="interrupted",
)
CUT_OFF_RESULT = "interrupted: the session was cancelled after this had begun; its outcome is unknown"


def interrupts(signal: Signal) -> bool:
    """Whether what runs is cut off for it: a cancel, and a pause whose payload says ``now``."""
    return signal.kind is SignalKind.CANCEL or (signal.kind is SignalKind.PAUSE and "now" in signal.payload)


def wants_attention(view: SessionView) -> bool:
    """Whether a signal is there that must have its effect before anything else begins."""
    return any(s.kind in (SignalKind.CANCEL, SignalKind.PAUSE) for s in view.signals)


def unread(draft: Draft) -> bool:
    """Whether a signal is there that no claim has looked at yet."""
    return any(signal.seq > draft.runtime.signals_read for signal in draft.signals)


def drain_signals(draft: Draft) -> None:
    """Apply each undrained signal, oldest first; afterwards only held messages are left undrained.

    A cancel that ends the run is the last one applied: what follows it is left for another turn.
    """
    held: list[Signal] = []
    for signal in list(draft.signals):
        draft.set_runtime(signals_read=max(signal.seq, draft.runtime.signals_read))
        match signal.kind:
            case SignalKind.MESSAGE:
                held.append(signal)
                continue
            case SignalKind.ROLLBACK:
                # A message waits for a rollback that was asked for before it.
                if draft.state.status in TERMINAL and draft.runtime.rollback is None:
                    _enter(draft, held)
                ask_rollback(draft, signal)
            case SignalKind.CANCEL:
                drop_rollback(draft, "it was cancelled")
                if _cancel(draft, held):
                    draft.drain(signal)
                    return
            case SignalKind.PAUSE:
                drop_rollback(draft, "it was paused")
                if draft.state.status in TERMINAL:
                    _enter(draft, held)
                if allows(draft.state.status, SessionEvent.PAUSE):
                    draft.move(SessionEvent.PAUSE)
                    draft.stop_clock("paused")
                    draft.tell(EventType.SESSION_PAUSED)
            case SignalKind.RESUME:
                # What a person was asked stays asked: only an answer goes on from there.
                if not _asks(draft):
                    _go_on(draft, SessionEvent.RESUME)
            case SignalKind.ANSWER:
                _answer(draft, signal)
            case SignalKind.RETRY:
                if not _asks(draft):
                    _go_on(draft, SessionEvent.RETRY)
        draft.drain(signal)
    held_back = draft.state.status is SessionStatus.PAUSED or draft.runtime.rollback is not None
    if not draft.dangling and not held_back:
        _enter(draft, held)


def drain_into_history(draft: Draft) -> None:
    """Drain everything without starting a run: messages join the conversation, the rest has no effect."""
    for signal in list(draft.signals):
        if signal.kind is SignalKind.MESSAGE:
            _append_message(draft, signal)
        draft.drain(signal)


def answer_dangling(draft: Draft, *, not_begun: CallResult, cut_off: CallResult) -> None:
    """Give each call without a result one, ``cut_off`` if an attempt of it had begun, and close the turn."""
    for call in draft.dangling:
        draft.answer_call(call, known_of(draft, call, cut_off) if call.attempt else not_begun)
    if draft.calls:
        draft.close_calls()


def _cancel(draft: Draft, held: list[Signal]) -> bool:
    if draft.state.status in TERMINAL:
        _enter(draft, held)
    if not allows(draft.state.status, SessionEvent.CANCEL):
        return False
    answer_dangling(
        draft,
        not_begun=CallResult(content=CANCELLED_RESULT, error_type="cancelled"),
        cut_off=CallResult(content=CUT_OFF_RESULT, error_type="cancelled"),
    )
    for message in held:
        _append_message(draft, message)
        draft.drain(message)
    held.clear()
    draft.move(SessionEvent.CANCEL)
    draft.stop_clock("cancelled")
    draft.set_runtime(cancelled_at=draft.now)
    draft.tell(EventType.SESSION_CANCELLED)
    return True


def _asks(draft: Draft) -> bool:
    return any(call.doubt == "ask" for call in draft.dangling)


def _answer(draft: Draft, signal: Signal) -> None:
    asked = [c for c in draft.dangling if c.doubt == "ask" and c.call_id == signal.payload.get("call")]
    what = signal.payload.get("what")
    for call in asked:
        draft.tell(EventType.CALL_DECIDED, turn=call.turn, tool_call_id=call.call_id, decision=what)
        if what == "again":
            draft.set_call(call.model_copy(update={"doubt": "none"}))
        elif what == "result":
            draft.answer_call(call, CallResult(content=str(signal.payload.get("text", ""))))
        else:
            draft.answer_call(call, SKIPPED)
    if asked and not _asks(draft):
        _go_on(draft, SessionEvent.RESUME)


def _go_on(draft: Draft, event: SessionEvent) -> None:
    if allows(draft.state.status, event):
        drop_rollback(draft, "the session went on")
        draft.move(event)
        draft.start_clock()
        draft.tell(EventType.SESSION_RESUMED, by=event.value)


def _enter(draft: Draft, held: list[Signal]) -> None:
    for message in held:
        if draft.state.status in TERMINAL:
            start_run(draft)
        _append_message(draft, message)
        draft.drain(message)
    held.clear()


def start_run(draft: Draft) -> None:
    """A new run begins: its limits count from nothing, the session's go on."""
    draft.move(SessionEvent.PROMPT)
    draft.set_runtime(usage=RuntimeUsage(), started_at=None, cancelled_at=None)
    draft.state = draft.state.model_copy(update={"end_time": None})
    draft.start_clock()


def _append_message(draft: Draft, signal: Signal) -> None:
    entry = draft.append(MemoryRole.USER, str(signal.payload.get("text", "")), {"signal": signal.seq})
    draft.tell(EventType.PROMPT_ACCEPTED, position=entry.position)
