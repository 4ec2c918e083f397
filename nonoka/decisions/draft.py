"""One commit in the making: a decision notes here what changes, step by step.

The draft always shows the session as it will be after what was noted so far, so that several decisions
(a call's result, the turn's end, the next turn's beginning) can share one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from nonoka.decisions import limits
from nonoka.decisions.calls import status_payload
from nonoka.decisions.plan_draft import PlanDraft
from nonoka.decisions.transitions import SessionEvent, next_status
from nonoka.records.base import JsonObject
from nonoka.records.commit import Changes, NewSession, NewSignal, SentSignal, SessionView, TaskOutcome
from nonoka.records.event import EventType, NewEvent
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.runtime import OpenTurn, RuntimeUsage, SessionRuntimeState, Termination
from nonoka.records.signal import Signal
from nonoka.records.step_run import call_of
from nonoka.records.step_update import StepUpdate, UpdateType
from nonoka.records.task import WORKSPACE, session_end, turn_key
from nonoka.records.tool import CallResult, CallState, Effect, SettledCall
from nonoka.records.workspace import SnapshotTaken, WhySnapshot

#: How much of a result its event shows.
SUMMARY_CHARACTERS = 200


class Draft:
    """Collects changes to the session that a view shows."""

    def __init__(self, view: SessionView) -> None:
        self.view = view
        #: what settling did about begun calls, by place; set by who decides after settling
        self.settled: Mapping[int, SettledCall] = {}
        self.now = view.now
        self.state = view.state
        self.plan = None if view.plan is None else PlanDraft(view.plan, view.state)
        self.calls = list(view.calls)
        self.signals = list(view.signals)
        self.next_position = view.next_position
        self.last_role = view.last_role
        self.last_has_calls = view.last_has_calls
        self.outcome = TaskOutcome(retries=view.task.retries, deaths=view.task.deaths)
        self._withdraw_from: int | None = None
        self._entries: list[MemoryEntry] = []
        self._updates: list[StepUpdate] = []
        self._events: list[NewEvent] = []
        self._drained: list[int] = []
        self._next_key: str | None = None
        self._ends_session = False
        self._sent: list[SentSignal] = []
        self._child: NewSession | None = None
        self._wants_workspace = False
        self._snapshots: list[SnapshotTaken] = []

    # --- what the session is now

    @property
    def runtime(self) -> SessionRuntimeState:
        """The state's runtime part."""
        return self.state.runtime_state

    @property
    def dangling(self) -> list[CallState]:
        """The calls that have no result yet, in the order asked."""
        return [call for call in self.calls if call.status != "done"]

    # --- what changes

    def tell(self, event: EventType, **data: JsonValue) -> None:
        """Put an event into the timeline."""
        self._events.append(NewEvent(type=event, data=data))

    def move(self, event: SessionEvent) -> None:
        """Change the session's status by the table."""
        self.state = self.state.model_copy(update={"status": next_status(self.state.status, event)})

    def set_runtime(self, **update: object) -> None:
        """Change fields of the runtime state."""
        self.state = self.state.model_copy(update={"runtime_state": self.runtime.model_copy(update=update)})

    def use(self, usage: RuntimeUsage) -> None:
        """Count usage for the run and for the session."""
        self.set_runtime(
            usage=self.runtime.usage.plus(usage), session_usage=self.runtime.session_usage.plus(usage)
        )

    def start_clock(self) -> None:
        """The run goes on from now; its deadline counts from here."""
        self.state = self.state.model_copy(update={"end_time": None})
        self.set_runtime(clock_started_at=self.now, termination=None)
        self.set_runtime(
            started_at=self.runtime.started_at or self.now,
            deadline_at=limits.deadline(self.runtime, self.now),
        )

    def stop_clock(
        self,
        reason: Literal["completed", "failed", "cancelled", "paused"],
        error_type: str | None = None,
        message: str | None = None,
    ) -> None:
        """The run stands still, or has ended, as of now and for this reason."""
        started = self.runtime.clock_started_at
        if started is not None:
            self.use(RuntimeUsage(active_ms=max(0, self.now - started)))
        ended = Termination(reason=reason, at=self.now, error_type=error_type, message=message)
        self.set_runtime(clock_started_at=None, deadline_at=None, termination=ended)
        if reason != "paused":
            self.state = self.state.model_copy(update={"end_time": self.now})

    def append(self, role: MemoryRole, content: str, metadata: JsonObject, tokens: int = 0) -> MemoryEntry:
        """Add an entry at the end of the conversation."""
        entry = MemoryEntry(
            position=self.next_position, role=role, content=content, metadata=metadata, tokens=tokens
        )
        self._entries.append(entry)
        self.next_position += 1
        self.last_role, self.last_has_calls = role, bool(entry.metadata.get("tool_calls"))
        return entry

    def withdraw(self, position: int, newest: MemoryEntry | None) -> None:
        """The entries from a position on leave the conversation; ``newest`` is the one before them, if any.

        To be noted before anything is appended. A turn that asked for calls there is open no more.
        """
        self._withdraw_from = position
        self.last_role = newest.role if newest else None
        self.last_has_calls = bool(newest and newest.metadata.get("tool_calls"))
        open_turn = self.runtime.open_turn
        if open_turn is not None and position <= open_turn.position + open_turn.calls:
            self.close_calls()
        self.set_runtime(rewrites=self.runtime.rewrites + 1)

    def open_calls(self, entry: MemoryEntry, turn: int) -> None:
        """The entry asks for calls: reserve the positions of their results."""
        calls = entry.tool_calls
        self.set_runtime(open_turn=OpenTurn(turn=turn, position=entry.position, calls=len(calls)))
        self.calls = [
            CallState(
                turn=turn,
                place=place,
                call_id=call.id,
                name=call.name,
                args=call.args,
                position=entry.position + 1 + place,
            )
            for place, call in enumerate(calls)
        ]
        self.next_position = entry.position + 1 + len(calls)

    def set_call(self, call: CallState) -> None:
        """Record where a call stands (its status row)."""
        self.calls[call.place] = call
        self.update(call.step_id, "status", status_payload(call, self.state.session_id))

    def answer_call(self, call: CallState, result: CallResult) -> None:
        """Give a call its one result, at the position reserved for it."""
        self._entries.append(
            MemoryEntry(
                position=call.position,
                role=MemoryRole.TOOL,
                content=result.content,
                metadata={
                    "tool_call_id": call.call_id,
                    "name": call.name,
                    "ok": result.error_type is None,
                    **({"artifact": result.artifact} if result.artifact else {}),
                },
            )
        )
        self.calls[call.place] = call.model_copy(update={"status": "done"})
        self.last_role, self.last_has_calls = MemoryRole.TOOL, False
        self.tell(
            EventType.CALL_FINISHED,
            turn=call.turn,
            tool_call_id=call.call_id,
            tool=call.name,
            ok=result.error_type is None,
            error_type=result.error_type,
            attempt=call.attempt,
            duration_ms=result.duration_ms,
            summary=result.content[:SUMMARY_CHARACTERS],
        )
        known: JsonObject = {"attempt": call.attempt, "position": call.position}
        if result.error_type is None:
            self.update(call.step_id, "result", known | {"duration_ms": result.duration_ms})
        else:
            failure: JsonObject = {
                "error_type": result.error_type,
                "message": result.content[:500],
                "traceback": result.traceback,
            }
            self.update(call.step_id, "error", known | failure)

    def update(self, step_id: str, update_type: UpdateType, payload: JsonObject) -> None:
        """Write a row of progress."""
        self._updates.append(StepUpdate(step_id=step_id, update_type=update_type, payload=payload))

    def close_calls(self) -> None:
        """All calls of the open turn are answered: none is open any more."""
        self.set_runtime(open_turn=None)
        self.calls = []

    def drain(self, signal: Signal) -> None:
        """The signal has had its effect in this commit."""
        self.signals.remove(signal)
        self._drained.append(signal.seq)

    def want_workspace(self) -> None:
        """The next call may change the workspace: the task takes it, or waits for the one that has it."""
        holder = self.view.workspace_holder
        task = self.view.task
        if holder in (None, task.task_id):
            self._wants_workspace = True
            return
        self.tell(EventType.TASK_WAITING, task=task.key, waits_for=WORKSPACE, holder=holder)
        self.outcome = TaskOutcome(
            kind="waiting",
            waits_for=WORKSPACE,
            not_before=task.not_before,
            retries=task.retries,
            deaths=self.outcome.deaths,
        )

    def note_snapshot(self, snapshot_id: str, *, turn: int, step_id: str, why: WhySnapshot) -> None:
        """A snapshot that was taken is on record, so that it is kept and found."""
        taken = SnapshotTaken(
            snapshot_id=snapshot_id,
            session_id=self.state.session_id,
            workspace=self.view.index.working_dir,
            turn=turn,
            step_id=step_id,
            why=why,
            taken_at=self.now,
        )
        self._snapshots.append(taken)

    def send(self, session_id: str, signal: NewSignal) -> None:
        """Another session has this signal in its inbox."""
        self._sent.append(SentSignal(session_id=session_id, signal=signal))

    def bear(self, child: NewSession) -> None:
        """The session is created, and this task waits for its end."""
        self._child = child
        self.wait_for(child.index.session_id)

    def wait_for(self, session_id: str) -> None:
        """The claimed task waits until that session has ended."""
        waits = {"kind": "waiting", "waits_for": session_end(session_id)}
        self.outcome = self.outcome.model_copy(update=waits)

    # --- what becomes of the task

    def finish_task(self, *, next_turn: bool) -> None:
        """The claimed task is done; with ``next_turn`` another becomes ready in this commit."""
        self.outcome = TaskOutcome(kind="done")
        self._next_key = turn_key(self.view.task.turn + 1) if next_turn else None

    def release_task(self, *, not_before: int, retries: int, deaths: int) -> None:
        """The claimed task is ready again from then on."""
        self.outcome = TaskOutcome(kind="ready", not_before=not_before, retries=retries, deaths=deaths)

    def bury_task(self, deaths: int) -> None:
        """The claimed task is given up."""
        self.outcome = TaskOutcome(kind="dead", deaths=deaths, retries=self.view.task.retries)

    def made_progress(self) -> None:
        """Something was committed that will not be done again: earlier deaths don't count any more."""
        self.outcome = self.outcome.model_copy(update={"deaths": 0})

    def end_session(self) -> None:
        """No other task of this session may commit from here on."""
        self._ends_session = True

    def changes(self) -> Changes:
        """What is to be written."""
        if self.plan is not None:
            self.state = self.plan.noted_in(self.state)
            if self.view.step is not None:
                self.calls = [call_of(self.plan.run(self.view.step.step, self.view.step.item))]
        return Changes(
            state=None if self.state is self.view.state else self.state,
            withdraw_from=self._withdraw_from,
            entries=tuple(self._entries),
            updates=tuple(self._updates),
            events=tuple(self._events),
            drained=tuple(self._drained),
            task=self.outcome,
            next_key=self._next_key,
            ends_session=self._ends_session,
            workspace=self._workspace(),
            snapshots=tuple(self._snapshots),
            plan=None if self.plan is None else self.plan.changes(),
            sent=tuple(self._sent),
            child=self._child,
        )

    def _workspace(self) -> Literal["keep", "take", "free"]:
        # Here for all decisions: whatever ends, pauses or hands back a call frees its workspace as well.
        begun = any(call.status == "begun" and call.effect is Effect.WORKSPACE for call in self.calls)
        rolling_back = self.runtime.rollback is not None and self.runtime.rollback.before is not None
        wanted = self._wants_workspace or (rolling_back and self.view.holds_workspace)
        needed = begun or (wanted and self.outcome.kind == "keep")
        if needed == self.view.holds_workspace:
            return "keep"
        return "take" if needed else "free"
