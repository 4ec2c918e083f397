"""A turn of a conversation, as a function of what is stored and what just happened.

``next_action`` says what is to be done; the engine does it and reports back through one of the functions
below, each of which notes in a Draft what to commit. A turn's position is data: whoever takes it up, and
wherever its predecessor died, reads the same position and goes on from there.

Commit points: A ``record_answer`` · B ``advance_calls`` · C ``finish_call`` · D ``end_turn`` (the last C
contains D, A and C contain the next B).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from nonoka.decisions import limits, retry
from nonoka.decisions.calls import call_id
from nonoka.decisions.draft import Draft
from nonoka.decisions.inbox import answer_dangling, drain_signals, unread, wants_attention
from nonoka.decisions.transitions import SessionEvent
from nonoka.records.base import JsonObject
from nonoka.records.commit import SessionView
from nonoka.records.event import EventType
from nonoka.records.memory import MemoryRole, ToolCall
from nonoka.records.model import ModelAnswer, RequestedCall
from nonoka.records.runtime import RollbackRequest, RuntimeUsage
from nonoka.records.session import SessionStatus
from nonoka.records.task import WORKSPACE, TaskStatus
from nonoka.records.tool import CallResult, CallStart, CallState, Effect, ProcessGroup
from nonoka.records.workspace import Snapshot, Work

#: Between two looks at a workspace that another store's session is changing: doubled from the first on.
FIRST_LOOK_MS, LONGEST_LOOK_MS = 250, 15_000
#: How many files that are in no snapshot an event names.
LEFT_OUT_SHOWN = 20
NO_WORK = Work()

#: What to do with each call of the open turn, by its place: begin it so, or answer it at once.
CallPlans = Mapping[int, CallStart | CallResult]


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask the model, then ``record_answer``, ``retry_later`` or ``fail_run``."""


@dataclass(frozen=True, slots=True)
class AdvanceCalls:
    """Commit ``advance_calls``: calls dangle and none of them is begun."""


@dataclass(frozen=True, slots=True)
class TakeSnapshot:
    """Take a snapshot for this call, whose workspace the task has, and ``advance_calls`` with it.

    ``wait_for_other_store`` where another store's session is changing that workspace.
    """

    call: CallState


@dataclass(frozen=True, slots=True)
class ReserveWorkspace:
    """Commit ``rollback.reserve``: a rollback needs the workspace."""


@dataclass(frozen=True, slots=True)
class RollBack:
    """Bring the workspace back, then commit ``rollback.rolled_back``, or ``rollback.refuse``."""

    request: RollbackRequest


@dataclass(frozen=True, slots=True)
class RunCalls:
    """Run these, side by side, and ``finish_call`` each: they are begun under this claim."""

    calls: tuple[CallState, ...]


@dataclass(frozen=True, slots=True)
class DrainSignals:
    """Commit ``attend``: a cancel or a pause came in."""


@dataclass(frozen=True, slots=True)
class EndTurn:
    """Commit ``end_turn``: nothing is left to do in this turn."""


@dataclass(frozen=True, slots=True)
class FailRun:
    """Commit ``fail_run``: a limit leaves no room."""

    error_type: str
    message: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The task isn't this claim's to run any more: it was finished by the last commit."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that brought nothing; ``retry_after_ms`` is what the other side asked us to wait."""

    error_type: str
    message: str
    may_pass: bool
    retry_after_ms: int | None = None


Action = (
    CallModel
    | AdvanceCalls
    | TakeSnapshot
    | ReserveWorkspace
    | RollBack
    | RunCalls
    | DrainSignals
    | EndTurn
    | FailRun
    | Stop
)


def next_action(view: SessionView) -> Action:
    """What to do now, from the session as the last commit left it."""
    if view.task.status is not TaskStatus.RUNNING:
        return Stop()
    begun = tuple(c for c in view.calls if c.status == "begun")
    if begun:
        return RunCalls(begun)
    rollback = view.state.runtime_state.rollback
    if rollback is not None and rollback.before is not None and view.holds_workspace:
        return RollBack(rollback)  # it has begun: half of it is no state to leave anything in
    if wants_attention(view):
        return DrainSignals()
    if rollback is not None:
        return RollBack(rollback) if view.holds_workspace else ReserveWorkspace()
    waiting = next((call for call in view.calls if call.status == "not_begun"), None)
    if waiting is not None:
        return TakeSnapshot(waiting) if view.holds_workspace else AdvanceCalls()
    answered = view.last_role is MemoryRole.ASSISTANT and not view.last_has_calls
    if view.calls or answered or view.state.status is not SessionStatus.RUNNING:
        return EndTurn()
    limit = limits.exceeded(view.state.runtime_state, view.now)
    if limit is not None:
        return FailRun("limit_reached", f"the limit {limit} is reached; a new prompt starts a new run")
    return CallModel()


def begin(draft: Draft) -> None:
    """The claim's own commit: the session runs, signals have their effect, the turn is told."""
    task = draft.view.task
    if draft.state.status is SessionStatus.CREATED:
        draft.move(SessionEvent.BEGIN)
        draft.start_clock()
    draft.state = draft.state.model_copy(update={"turn_count": max(draft.state.turn_count, task.turn)})
    draft.tell(
        EventType.TURN_STARTED,
        turn=task.turn,
        attempt=task.attempt,
        worker=task.lease_owner,
        fence=task.fence,
    )
    attend(draft)


def attend(draft: Draft) -> None:
    """Signals have their effect; if they end or pause the session, its task is done.

    What comes after a cancel gets a turn of its own: this turn's number names calls already.
    """
    drain_signals(draft)
    if draft.state.status is not SessionStatus.RUNNING and draft.runtime.rollback is None:
        ended = draft.state.status is not SessionStatus.PAUSED
        draft.finish_task(next_turn=ended and bool(draft.signals))
        if ended:
            draft.end_session()


def record_answer(draft: Draft, answer: ModelAnswer, plans: CallPlans, work: Work = NO_WORK) -> None:
    """Commit A: the assistant entry, its calls with ids of ours, and what it cost.

    The first calls begin in the same commit; without calls the turn ends in it, as of ``end_turn``.
    """
    turn = draft.view.task.turn
    usage = answer.usage.model_copy(update={"model_turns": 1, "tool_calls": 0, "active_ms": 0})
    draft.use(usage)
    draft.set_runtime(last_input_tokens=answer.usage.input_tokens)
    calls = [_tool_call(turn, place, call) for place, call in enumerate(answer.calls)]
    metadata: JsonObject = {"turn": turn, "model": answer.model}
    if calls:
        metadata["tool_calls"] = [call.model_dump(mode="json") for call in calls]
    if answer.provider:
        metadata["provider"] = answer.provider
    entry = draft.append(MemoryRole.ASSISTANT, answer.text, metadata, answer.usage.output_tokens)
    draft.made_progress()
    spent = {"input_tokens", "output_tokens", "cost_usd", "cost_unknown", "estimated"}
    draft.tell(
        EventType.MODEL_ANSWERED,
        turn=turn,
        position=entry.position,
        text=answer.text,
        calls=[{"id": call.id, "name": call.name, "args": call.args} for call in calls],
        usage=usage.model_dump(mode="json", include=spent),
    )
    if calls:
        draft.open_calls(entry, turn)
        advance_calls(draft, plans)
    else:
        end_turn(draft, work)


def advance_calls(draft: Draft, plans: CallPlans) -> None:
    """Commit B: begin the calls that come next, answer those that can't run; end the turn after the last.

    Calls that only read begin side by side; any other begins alone, in the order asked. One that may change
    the workspace begins once the task has the workspace and its plan a snapshot. Where a cancel or a pause came
    in meanwhile this changes nothing: ``next_action`` has it heeded first.
    """
    if wants_attention(draft.view):
        return
    begun: list[CallState] = []
    for call in draft.dangling:
        plan = plans[call.place]
        if isinstance(plan, CallStart) and call.attempt == 0:
            left = limits.tool_calls_left(draft.runtime)
            if left is not None and left <= 0:
                plan = CallResult(
                    content="not run: the limit of tool calls is reached", error_type="limit_reached"
                )
        if isinstance(plan, CallResult):
            draft.answer_call(call, plan)
            continue
        if begun and not (plan.effect is Effect.READ_ONLY and begun[-1].effect is Effect.READ_ONLY):
            break
        if plan.effect is Effect.WORKSPACE and plan.snapshot is None:
            draft.want_workspace()
            break
        begun.append(_begin_call(draft, call, plan))
    if not draft.dangling:
        end_turn(draft)


def finish_call(draft: Draft, place: int, result: CallResult, plans: CallPlans) -> None:
    """Commit C: a call's result; with the last one under way, what comes after it as well."""
    call = draft.calls[place]
    if call.status == "done":
        return
    draft.answer_call(call, result)
    draft.made_progress()
    if not any(c.status == "begun" for c in draft.calls):
        advance_calls(draft, plans)


def end_turn(draft: Draft, work: Work = NO_WORK) -> None:
    """Commit D: another turn if calls were answered or signals wait, else the run is completed.

    ``work`` is what became of what was done in a working tree of the session's own.
    """
    task = draft.view.task
    answered = draft.last_role is MemoryRole.ASSISTANT and not draft.last_has_calls
    if draft.calls:
        draft.close_calls()
    draft.tell(EventType.TURN_FINISHED, turn=task.turn)
    goes_on = bool(draft.signals) or not answered
    if not goes_on:
        draft.move(SessionEvent.ANSWER)
        draft.stop_clock("completed")
        kept = work.model_dump(exclude_none=True)
        draft.tell(EventType.SESSION_COMPLETED, turns=draft.runtime.usage.model_turns, **kept)
        draft.end_session()
    draft.finish_task(next_turn=goes_on)


def record_process(draft: Draft, place: int, group: ProcessGroup) -> None:
    """A begun call has started this process group, which is still held."""
    call = draft.calls[place]
    draft.set_call(call.model_copy(update={"processes": (*call.processes, group)}))


def wait_for_other_store(draft: Draft, who: str) -> None:
    """The workspace is being changed through another store: the task looks again a little later."""
    task = draft.view.task
    wait = min(LONGEST_LOOK_MS, FIRST_LOOK_MS << min(task.attempt, 10))
    draft.tell(EventType.TASK_WAITING, task=task.key, waits_for=WORKSPACE, holder=who)
    draft.release_task(not_before=draft.now + wait, retries=task.retries, deaths=task.deaths)


def retry_later(draft: Draft, failure: Failure, lot: float) -> None:
    """What may pass: the task waits as a row, or the run fails once it has waited often enough."""
    task = draft.view.task
    if not failure.may_pass or task.retries >= retry.MAX_RETRIES:
        tries = f" (after {task.retries + 1} attempts)" if task.retries else ""
        fail_run(draft, failure.error_type, failure.message + tries)
        return
    wait = 0 if unread(draft) else retry.backoff_ms(task.retries, lot, failure.retry_after_ms)
    draft.release_task(not_before=draft.now + wait, retries=task.retries + 1, deaths=0)
    draft.tell(
        EventType.TURN_RETRIED,
        turn=task.turn,
        error_type=failure.error_type,
        message=failure.message,
        retry_at=draft.now + wait,
        retries=task.retries + 1,
    )


def fail_run(draft: Draft, error_type: str, message: str) -> None:
    """The run ends with an error. Signals that wait get a turn of their own."""
    answer_dangling(
        draft,
        not_begun=CallResult(content="not run: the run ended", error_type="not_run"),
        cut_off=CallResult(content="interrupted: its outcome is unknown", error_type="interrupted"),
    )
    draft.move(SessionEvent.FAIL)
    draft.stop_clock("failed", error_type, message)
    draft.tell(EventType.TURN_FINISHED, turn=draft.view.task.turn)
    draft.tell(EventType.SESSION_FAILED, error_type=error_type, message=message)
    draft.end_session()
    draft.finish_task(next_turn=bool(draft.signals))


def _begin_call(draft: Draft, call: CallState, start: CallStart) -> CallState:
    again = call.attempt > 0
    call = call.model_copy(
        update={
            "status": "begun",
            "attempt": call.attempt + 1,
            "fence": draft.view.task.fence,
            "effect": start.effect,
            "on_uncertain": start.on_uncertain,
            "processes": (),
            "snapshot": start.snapshot.snapshot_id if start.snapshot else None,
            "repository": start.snapshot.repository if start.snapshot else None,
        }
    )
    draft.set_call(call)
    if call.snapshot is not None:
        draft.note_snapshot(call.snapshot, turn=call.turn, step_id=call.step_id, why="before_call")
    if not again:
        draft.use(RuntimeUsage(tool_calls=1))
    draft.tell(
        EventType.CALL_STARTED,
        turn=call.turn,
        tool_call_id=call.call_id,
        tool=call.name,
        args=call.args,
        attempt=call.attempt,
        **_told(start.snapshot),
    )
    return call


def _told(snapshot: Snapshot | None) -> JsonObject:
    if snapshot is None:
        return {}
    left_out = [f"{note.path}: {note.why}" for note in snapshot.left_out]
    return {"snapshot": snapshot.snapshot_id, **({"left_out": [*left_out[:LEFT_OUT_SHOWN]]} if left_out else {})}


def _tool_call(turn: int, place: int, asked: RequestedCall) -> ToolCall:
    return ToolCall(
        id=call_id(turn, place), name=asked.name, args=parsed_arguments(asked.arguments), model_id=asked.model_id
    )


def parsed_arguments(arguments: str) -> JsonObject | str:
    """The arguments as an object; where the text isn't one, the text itself."""
    text = arguments.strip() or "{}"
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return arguments
    return value if isinstance(value, dict) else arguments
