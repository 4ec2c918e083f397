"""Sessions driven at random through every decision: what must hold whatever comes in whatever order.

The machine plays workers that work, stop and die, settlers that clean up after them, and people that signal
at any moment. It keeps no model of the session: it checks laws on what is stored.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, NamedTuple, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nonoka.adapters.memory.store import MemoryStore
from nonoka.decisions import recovery, rollback, turn
from nonoka.decisions.conversation_rules import first_fault
from nonoka.decisions.retry import MAX_DEATHS
from nonoka.decisions.transitions import TERMINAL
from nonoka.decisions.turn import CallPlans, Failure
from nonoka.engine.rollback import find_target
from nonoka.errors import ClaimLost
from nonoka.ports.store import Decide
from nonoka.records.commit import Changes, Claim, Committed, NewSignal, SessionDetail, SessionView, TaskOutcome
from nonoka.records.event import EventType, NewEvent
from nonoka.records.memory import MemoryRole
from nonoka.records.model import ModelAnswer
from nonoka.records.runtime import RuntimeLimits
from nonoka.records.session import SessionStatus
from nonoka.records.signal import SignalKind
from nonoka.records.task import TaskStatus
from nonoka.records.tool import CallResult, CallStart, CallState, Effect, SettledCall
from nonoka.records.workspace import Rollback
from tests.support.manual_clock import ManualClock
from tests.support.sessions import (
    answer,
    asked,
    deciding,
    message,
    new_session,
    result,
    signal,
    user_entry,
    with_snapshot,
    writing,
)

T = TypeVar("T")

#: Tools by name: how each begins, or its answer where it can't.
TOOLS: dict[str, CallStart | CallResult] = {
    "look": CallStart(place=0, effect=Effect.READ_ONLY, on_uncertain="replay"),
    "put": CallStart(place=0, effect=Effect.IDEMPOTENT, on_uncertain="replay"),
    "edit": CallStart(place=0, effect=Effect.WORKSPACE, on_uncertain="replay"),
    "pay_again": CallStart(place=0, effect=Effect.EXTERNAL, on_uncertain="replay"),
    "pay_and_tell": CallStart(place=0, effect=Effect.EXTERNAL, on_uncertain="tell"),
    "pay_or_fail": CallStart(place=0, effect=Effect.EXTERNAL, on_uncertain="fail"),
    "pay_and_ask": CallStart(place=0, effect=Effect.EXTERNAL, on_uncertain="ask"),
    "pay_and_look": CallStart(place=0, effect=Effect.EXTERNAL, on_uncertain="probe"),
    "make_and_ask": CallStart(place=0, effect=Effect.WORKSPACE, on_uncertain="ask"),
    "unknown": CallResult(content="no such tool", error_type="unknown_tool"),
}
ONCE_ONLY = ("pay_and_tell", "pay_or_fail")
LIMITS = [
    RuntimeLimits(),
    RuntimeLimits(max_tool_calls=2),
    RuntimeLimits(max_model_turns=2),
    RuntimeLimits(session_max_model_turns=3, max_wall_s=40),
]
AT_WORK = frozenset({SessionStatus.CREATED, SessionStatus.RUNNING})
ENDS = (EventType.SESSION_COMPLETED, EventType.SESSION_FAILED, EventType.SESSION_CANCELLED)
#: in which statuses a run has to heed it, and the event that tells that it did
STOPPED = {
    SignalKind.CANCEL: {*AT_WORK, SessionStatus.PAUSED},
    SignalKind.PAUSE: AT_WORK,
}
STOPS = {SignalKind.CANCEL: EventType.SESSION_CANCELLED, SignalKind.PAUSE: EventType.SESSION_PAUSED}
GOES_ON = {SignalKind.RESUME: SessionStatus.PAUSED, SignalKind.RETRY: SessionStatus.FAILED}
#: More actions than any fair run from here can need.
ENOUGH = 120


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a store method in memory, which never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    raise AssertionError("the memory store waited for something")


def plans_for(names: list[str]) -> CallPlans:
    return {place: _at(TOOLS[name], place) for place, name in enumerate(names)}


def _at(plan: CallStart | CallResult, place: int) -> CallStart | CallResult:
    return plan.model_copy(update={"place": place}) if isinstance(plan, CallStart) else plan


class Sent(NamedTuple):
    """A signal, and the session as it was sent: its status, whether it had no task, its number of events."""

    kind: SignalKind
    status: SessionStatus
    at_rest: bool
    events: int


class Turns(RuleBasedStateMachine):
    """One session, at most one claim on it that is still good, and any number that aren't."""

    @initialize(limits=st.sampled_from(LIMITS), claimed=st.booleans())
    def create(self, limits: RuntimeLimits, claimed: bool) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(self.clock)
        self.held: Claim | None = None
        self.settling: Claim | None = None
        self.view: SessionView | None = None
        self.seen: tuple[int, SessionDetail] | None = None
        self.lost: list[Claim] = []
        self.fences: dict[str, int] = {}
        self.texts: dict[int, str] = {}
        self.sent: dict[int, Sent] = {}
        self.other: Claim | None = None
        new = new_session(self.clock, limits=limits)
        self.session_id = new.index.session_id
        if claimed:
            taken = at_once(self.store.create_session(new, claim_by="w1", decide=deciding(turn.begin)))
            assert taken is not None
            self.note(taken)
        else:
            at_once(self.store.create_session(new))

    # --- workers

    @precondition(lambda self: self.held is None and self.settling is None)
    @rule()
    def claim(self) -> None:
        taken = at_once(self.store.claim("w1", deciding(turn.begin), session_id=self.session_id))
        if taken is not None:
            self.note(taken)

    @precondition(lambda self: self.held is not None)
    @rule(data=st.data(), stay=st.booleans())
    def work(self, data: st.DataObject, stay: bool) -> None:
        """The next thing that the turn asks for, with any outcome."""
        self.act(stay=stay, data=data)

    @precondition(lambda self: self.held is not None)
    @rule()
    def stop(self) -> None:
        """The worker is asked to end: whatever it held, it holds no more."""
        claim = self.held
        assert claim is not None
        done = self.commit(claim, deciding(recovery.hand_back, self.settled()))
        assert done.view.task.status is not TaskStatus.RUNNING, "handed back, and still running for nobody"
        self.let_go(claim)

    @precondition(lambda self: self.held is not None)
    @rule(lot=st.floats(0, 1, exclude_max=True))
    def break_down(self, lot: float) -> None:
        """Something unforeseen is raised while the turn runs."""
        claim = self.held
        assert claim is not None
        failure = Failure("internal_error", "boom", may_pass=True)
        self.commit(claim, deciding(recovery.settle_and_retry, failure, lot, self.settled()))
        self.let_go(claim)

    # --- deaths, and those who clean up

    @precondition(lambda self: self.held is not None or self.settling is not None)
    @rule()
    def die_and_be_taken_over(self) -> None:
        """The owner, or the settler, is gone; another settler takes the claim."""
        claims = at_once(self.store.running_claims())
        (found,) = [claim for claim in claims if claim.task.session_id == self.session_id]
        taken = at_once(self.store.take_over(found, "settler"))
        assert taken is not None
        for claim in (self.held, self.settling):
            if claim is not None:
                self.let_go(claim)
        self.settling = taken[0]

    @precondition(lambda self: self.settling is not None)
    @rule(git_ran=st.booleans())
    def settle(self, git_ran: bool) -> None:
        claim = self.settling
        assert claim is not None
        self.commit(claim, deciding(recovery.release_lost, self.settled(git_ran=git_ran)))
        self.let_go(claim)

    @precondition(lambda self: self.lost)
    @rule(data=st.data())
    def wake_as_a_zombie(self, data: st.DataObject) -> None:
        """A claim that is no longer good commits nothing at all."""
        claim = data.draw(st.sampled_from(self.lost))
        before = at_once(self.store.detail(self.session_id))
        everything = Changes(
            state=before.state.model_copy(update={"status": SessionStatus.COMPLETED}),
            entries=(user_entry(9_999),),
            events=(NewEvent(type=EventType.SESSION_COMPLETED),),
            task=TaskOutcome(kind="done"),
            next_key="turn:9999",
            ends_session=True,
        )
        with pytest.raises(ClaimLost):
            at_once(self.store.commit(claim, writing(everything)))
        assert at_once(self.store.detail(self.session_id)) == before

    # --- people, and time

    @rule(kind=st.sampled_from(SignalKind))
    def send(self, kind: SignalKind) -> None:
        self.add(signal(kind) if kind is not SignalKind.MESSAGE else message(f"message {len(self.texts)}"))

    @rule()
    def ask(self) -> None:
        """Messages are the most frequent signal."""
        self.add(message(f"message {len(self.texts)}"))

    @rule(what=st.sampled_from(["again", "skip", "result"]))
    def answer_what_is_asked(self, what: str) -> None:
        for call in self.detail().calls:
            if call.doubt == "ask":
                self.answer(call.call_id, what)

    def answer(self, call_id: str, what: str) -> None:
        payload = {"call": call_id, "what": what, "text": "it did"}
        self.add(NewSignal(kind=SignalKind.ANSWER, payload=payload))

    @rule(begins=st.booleans())
    def another_session_changes_the_workspace(self, begins: bool) -> None:
        """It begins a call there if it may, or ends the one that it has begun."""
        if begins and self.other is None:
            self.other = self.other_in_the_workspace()
        elif not begins and self.other is not None:
            self.end_the_other()

    def other_in_the_workspace(self) -> Claim | None:
        new = new_session(self.clock)
        taken = at_once(self.store.create_session(new, claim_by="w9", decide=deciding(turn.begin)))
        assert taken is not None
        plans = {0: TOOLS["edit"]}
        claim = taken.claim
        view = at_once(
            self.store.commit(claim, deciding(turn.record_answer, answer("so", asked("edit")), plans))
        ).view
        if not view.holds_workspace:
            assert view.task.status is TaskStatus.WAITING
            assert at_once(self.store.holds_workspace(self.session_id))
            at_once(self.store.add_signal(claim.session_id, signal(SignalKind.CANCEL)))
            at_once(self.store.claim("w9", deciding(turn.begin), session_id=claim.session_id))
            return None
        assert not at_once(self.store.holds_workspace(self.session_id)), "two change one workspace"
        at_once(self.store.commit(claim, deciding(turn.advance_calls, with_snapshot(plans, 0))))
        return claim

    def end_the_other(self) -> None:
        assert self.other is not None
        waits = [task.task_id for task in self.detail().tasks if task.status is TaskStatus.WAITING]
        done = at_once(self.store.commit(self.other, deciding(turn.finish_call, 0, result(), {0: TOOLS["edit"]})))
        assert list(done.woken) == waits, "who waited for the workspace is not told that it is free"
        self.other = None

    @rule(ms=st.sampled_from([1, 400, 5_000, 130_000]))
    def wait(self, ms: int) -> None:
        self.clock.advance_ms(ms)

    # --- what always holds

    @invariant()
    def a_session_that_goes_on_has_a_task(self) -> None:
        found = self.detail()
        at_work = (TaskStatus.READY, TaskStatus.RUNNING, TaskStatus.WAITING)
        live = [task for task in found.tasks if task.status in at_work]
        assert len(live) <= 1, "two tasks of one conversation"
        if found.state.status not in TERMINAL and found.state.status is not SessionStatus.PAUSED:
            assert live, f"a {found.state.status} session without a task"
        assert at_once(self.store.repair_taskless()) == []

    @invariant()
    def fences_only_grow_and_the_count_of_deaths_is_bounded(self) -> None:
        for task in self.detail().tasks:
            assert task.fence >= self.fences.get(task.task_id, 0)
            self.fences[task.task_id] = task.fence
            assert task.deaths < MAX_DEATHS or task.status is TaskStatus.DEAD

    @invariant()
    def a_call_has_one_result_and_the_conversation_no_gap(self) -> None:
        found = self.detail()
        entries = found.state.memory_entries
        answered = [entry.tool_call_id for entry in entries if entry.role is MemoryRole.TOOL]
        assert len(answered) == len(set(answered))
        if found.state.runtime_state.open_turn is None:
            assert [entry.position for entry in entries] == list(range(len(entries)))
            assert first_fault(entries) is None
        turns = [int(str(entry.metadata["turn"])) for entry in entries if entry.role is MemoryRole.ASSISTANT]
        assert turns == sorted(set(turns)), "a turn's number was used twice"

    @invariant()
    def a_call_is_in_doubt_only_while_its_task_runs(self) -> None:
        found = self.detail()
        if any(call.status == "begun" for call in found.calls):
            assert any(task.status is TaskStatus.RUNNING for task in found.tasks)

    @invariant()
    def no_message_is_lost_or_doubled_or_overtaken(self) -> None:
        found = self.detail()
        entered = [int(str(e.metadata["signal"])) for e in found.state.memory_entries if "signal" in e.metadata]
        waiting = [s.seq for s in found.signals if s.kind is SignalKind.MESSAGE]
        assert entered + waiting == list(self.texts)
        texts = [e.content for e in found.state.memory_entries if "signal" in e.metadata]
        assert texts == [self.texts[seq] for seq in entered]

    @invariant()
    def what_waits_in_the_inbox_will_be_read(self) -> None:
        """A session at rest has read everything, but for what a pause holds back."""
        found = self.detail()
        if all(task.status in (TaskStatus.DONE, TaskStatus.DEAD) for task in found.tasks):
            kinds = {s.kind for s in found.signals}
            held = {SignalKind.MESSAGE, SignalKind.PAUSE} if found.state.status is SessionStatus.PAUSED else set()
            assert kinds <= held
        for task in found.tasks:
            if task.status is TaskStatus.READY and task.not_before > self.clock.now_ms():
                unread = [s.seq for s in found.signals if s.seq > found.state.runtime_state.signals_read]
                assert not unread, "a signal waits for a wait that it should have ended"

    @invariant()
    def nothing_begins_once_it_is_to_stop(self) -> None:
        found = self.detail()
        for seq in {s.seq for s in found.signals if s.kind in (SignalKind.CANCEL, SignalKind.PAUSE)}:
            begun = [e for e in found.events[self.sent[seq].events :] if e.type is EventType.CALL_STARTED]
            assert not begun, "a call began though a cancel or a pause was there"

    @invariant()
    def what_is_to_stop_is_never_completed_instead(self) -> None:
        """A run that is cancelled or paused while it is at work may fail before that, and no more."""
        events = self.detail().events
        for sent in self.sent.values():
            if sent.status in STOPPED.get(sent.kind, ()):
                ends = [e.type for e in events[sent.events :] if e.type in ENDS or e.type is STOPS[sent.kind]]
                assert ends[:1] != [EventType.SESSION_COMPLETED]

    @invariant()
    def who_is_to_go_on_goes_on(self) -> None:
        found = self.detail()
        waiting = {s.seq for s in found.signals}
        for seq, sent in self.sent.items():
            asked_then = any(e.type is EventType.CALL_ASKED for e in found.events[: sent.events])
            if sent.at_rest and GOES_ON.get(sent.kind) is sent.status and seq not in waiting and not asked_then:
                following = {e.type for e in found.events[sent.events :]}
                assert following & {EventType.SESSION_RESUMED, EventType.SESSION_CANCELLED}

    @invariant()
    def a_call_runs_again_only_where_it_may(self) -> None:
        found = self.detail()
        begun: dict[str, int] = {}
        answered: set[str] = set()
        for event in found.events:
            call = str(event.data.get("tool_call_id"))
            if event.type is EventType.CALL_STARTED:
                assert call not in answered, "a call ran after it was answered"
                begun[call] = begun.get(call, 0) + 1
                if event.data["tool"] in ONCE_ONLY:
                    assert begun[call] == 1, "a call ran again that must not"
            if event.type is EventType.CALL_FINISHED:
                answered.add(call)
                if str(event.data["summary"]).startswith("not run"):
                    assert call not in begun, "a call that had begun was called not run"

    @invariant()
    def a_workspace_is_changed_by_who_has_it_and_had_for_nothing_else(self) -> None:
        found = self.detail()
        begun = any(call.status == "begun" and call.effect is Effect.WORKSPACE for call in found.calls)
        has_it = at_once(self.store.holds_workspace(self.session_id))
        assert has_it or not begun
        if has_it:
            assert any(task.status is TaskStatus.RUNNING for task in found.tasks), "it is held for nobody"
        if any(task.status is TaskStatus.WAITING for task in found.tasks):
            assert self.other is not None, "a task waits for a workspace that nobody has"

    @invariant()
    def the_clock_runs_while_the_session_does(self) -> None:
        state = self.detail().state
        runtime = state.runtime_state
        assert (runtime.clock_started_at is not None) == (state.status is SessionStatus.RUNNING)
        assert (state.end_time is not None) == (state.status in TERMINAL)
        ended = runtime.termination.reason if runtime.termination else None
        at_work = state.status in (SessionStatus.CREATED, SessionStatus.RUNNING)
        assert ended == (None if at_work else state.status.value)

    # --- the end: whatever happened, it comes to one, and takes another prompt

    def teardown(self) -> None:
        if not hasattr(self, "store"):
            return
        self.run_fairly()
        for _ in range(ENOUGH):
            if self.detail().state.status is not SessionStatus.PAUSED:
                break
            asked_about = [call.call_id for call in self.detail().calls if call.doubt == "ask"]
            for call_id in asked_about:
                self.answer(call_id, "again")
            if not asked_about:
                self.add(signal(SignalKind.RESUME))
            self.run_fairly()
        assert self.detail().state.status in TERMINAL
        self.add(message("one more"))
        self.run_fairly()
        found = self.detail()
        assert found.state.status in (SessionStatus.COMPLETED, SessionStatus.FAILED)
        assert found.signals == ()
        assert [e.content for e in found.state.memory_entries if "signal" in e.metadata] == list(
            self.texts.values()
        )
        self.no_message_is_lost_or_doubled_or_overtaken()
        self.a_call_has_one_result_and_the_conversation_no_gap()

    def run_fairly(self) -> None:
        for _ in range(ENOUGH):
            if self.settling is not None:
                self.settle(git_ran=False)
            elif self.held is not None:
                self.act(stay=False, data=None)
            else:
                live = at_once(self.store.standing(self.session_id)).live_tasks
                if not live:
                    return
                if live[0].status is TaskStatus.WAITING:
                    self.end_the_other()
                self.clock.advance_ms(max(0, live[0].not_before - self.clock.now_ms()))
                self.claim()
        raise AssertionError("a fair run does not come to an end")

    def settled(self, *, git_ran: bool = False) -> dict[int, SettledCall]:
        begun = [call for call in self.detail().calls if call.status == "begun"]
        return {
            call.place: SettledCall(place=call.place, not_rolled_back="HEAD moved")
            if git_ran
            else SettledCall(place=call.place, rollback=Rollback(before=f"before-{call.call_id}"))
            for call in begun
            if call.snapshot is not None
        }

    # --- the engine's part, by hand

    def act(self, *, stay: bool, data: st.DataObject | None) -> None:
        claim, view = self.held, self.view
        assert claim is not None
        assert view is not None
        match turn.next_action(view):
            case turn.Stop():
                raise AssertionError("a claim is held on a task that does not run")
            case turn.DrainSignals():
                decide = deciding(turn.attend)
            case turn.FailRun(error_type, text):
                decide = deciding(turn.fail_run, error_type, text)
            case turn.EndTurn():
                decide = deciding(turn.end_turn)
            case turn.CallModel():
                decide = self.model_outcome(data)
            case turn.ReserveWorkspace():
                decide = deciding(rollback.reserve)
            case turn.RollBack(request):
                refused = at_once(find_target(self.store, self.session_id, request))
                assert refused == "there is no rollback to undo"
                decide = deciding(rollback.refuse, refused)
            case turn.TakeSnapshot(call):
                plans = plans_for([each.name for each in view.calls])
                if isinstance(plans[call.place], CallStart):
                    plans = with_snapshot(plans, call.place)
                decide = deciding(turn.advance_calls, plans)
            case turn.AdvanceCalls():
                decide = deciding(turn.advance_calls, plans_for([call.name for call in view.calls]))
            case turn.RunCalls(calls):
                decide = self.call_outcome(calls, view, data)
        then_claim = deciding(turn.begin) if stay else None
        self.note(self.commit(claim, decide, then_claim))

    def model_outcome(self, data: st.DataObject | None) -> Decide:
        entries = at_once(self.store.conversation(self.session_id))
        assert first_fault(entries) is None, "a model would see this"
        assert entries[-1].role is not MemoryRole.ASSISTANT
        if data is None:
            return deciding(turn.record_answer, answer("done"), {})
        outcome = data.draw(st.sampled_from(["answer", "answer", "may_pass", "final"]))
        if outcome == "answer":
            names = data.draw(st.lists(st.sampled_from(sorted(TOOLS)), max_size=3))
            given: ModelAnswer = answer("so", *(asked(name) for name in names))
            return deciding(turn.record_answer, given, plans_for(names))
        failure = Failure("network", "gone", may_pass=outcome == "may_pass")
        return deciding(turn.retry_later, failure, data.draw(st.floats(0, 1, exclude_max=True)))

    def call_outcome(self, calls: tuple[CallState, ...], view: SessionView, data: st.DataObject | None) -> Decide:
        call = data.draw(st.sampled_from(calls)) if data else calls[0]
        assert call.fence == view.task.fence, "run under a claim that did not begin it"
        brought = result("ok", "boom" if data and data.draw(st.booleans()) else None)
        return deciding(turn.finish_call, call.place, brought, plans_for([c.name for c in view.calls]))

    def commit(self, claim: Claim, decide: Decide, then_claim: Decide | None = None) -> Committed:
        return at_once(self.store.commit(claim, decide, then_claim=then_claim))

    def note(self, done: Committed) -> None:
        """What the worker knows after a commit of its own."""
        claim = done.next_claim or done.claim
        if done.next_claim is not None:
            self.let_go(done.claim)
        if done.view.task.status is TaskStatus.RUNNING:
            self.held, self.view = claim, done.view
        else:
            self.let_go(claim)

    def let_go(self, claim: Claim) -> None:
        self.lost.append(claim)
        if self.settling == claim:
            self.settling = None
        if self.held is not None and self.held.task_id == claim.task_id:
            self.held, self.view = None, None

    def add(self, new: NewSignal) -> None:
        found = self.detail()
        at_rest = at_once(self.store.standing(self.session_id)).at_rest
        seq = at_once(self.store.add_signal(self.session_id, new))
        self.sent[seq] = Sent(new.kind, found.state.status, at_rest, len(found.events))
        if new.kind is SignalKind.MESSAGE:
            self.texts[seq] = new.payload["text"]

    def detail(self) -> SessionDetail:
        """The session as it is stored, read anew only once something was committed."""
        mark = at_once(self.store.change_mark())
        if self.seen is None or self.seen[0] != mark:
            self.seen = (mark, at_once(self.store.detail(self.session_id)))
        return self.seen[1]


TestTurns = Turns.TestCase
TestTurns.settings = settings(max_examples=200, stateful_step_count=40, deadline=None, report_multiple_bugs=False)
