"""What programs read of a session."""

from __future__ import annotations

from nonoka.entrypoints.cli.contract import session_contract
from nonoka.records.commit import SessionDetail
from nonoka.records.event import Event, EventType
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.runtime import OpenTurn, RuntimeUsage, SessionRuntimeState, Termination
from nonoka.records.session import SessionIndex, SessionState, SessionStatus, StepFailure, StepStatus
from nonoka.records.step_update import StepUpdate
from nonoka.records.task import Task, TaskStatus
from nonoka.records.tool import CallState

KEYS = [
    "session_id",
    "status",
    "kind",
    "agent",
    "model",
    "working_dir",
    "created_at",
    "last_active",
    "title",
    "result",
    "error",
    "termination",
    "turn_count",
    "usage",
    "limits",
    "messages",
    "steps",
    "tasks",
    "pending",
    "events",
]

INDEX = SessionIndex(
    session_id="s-1",
    title="hi",
    working_dir="/w",
    agent="default",
    model="openai:m",
    created_at=10,
    last_active=20,
)
ASKED = MemoryEntry(
    position=1,
    role=MemoryRole.ASSISTANT,
    content="",
    metadata={"tool_calls": [{"id": f"call_1_{n}", "name": "look", "args": {}} for n in range(3)]},
)
USER = MemoryEntry(position=0, role=MemoryRole.USER, content="hi")


def call(place: int, status: str, fence: int = 0) -> CallState:
    return CallState.model_validate(
        {
            "turn": 1,
            "place": place,
            "call_id": f"call_1_{place}",
            "name": "look",
            "args": {},
            "position": 2 + place,
            "status": status,
            "fence": fence,
        }
    )


def task(status: TaskStatus, fence: int) -> Task:
    return Task(task_id="s-1/turn:1", session_id="s-1", kind="turn", key="turn:1", status=status, fence=fence)


def detail(state: SessionState, **more: object) -> SessionDetail:
    parts: dict[str, object] = {"tasks": (), "calls": (), "updates": (), "events": (), "signals": ()}
    return SessionDetail.model_validate({"index": INDEX, "state": state, **parts, **more})


def test_every_key_is_there_for_a_session_of_which_nothing_is_known_yet() -> None:
    contract = session_contract(detail(SessionState(session_id="s-1", start_time=10)))
    assert list(contract) == KEYS
    assert (contract["result"], contract["error"], contract["termination"]) == (None, None, None)
    assert contract["messages"] == contract["steps"] == contract["tasks"] == contract["pending"] == []


def test_a_call_without_result_says_why() -> None:
    """Running under the claim that holds now, in doubt under an earlier one, or not begun."""
    state = SessionState(
        session_id="s-1",
        start_time=10,
        status=SessionStatus.RUNNING,
        memory_entries=(USER, ASKED),
        runtime_state=SessionRuntimeState(open_turn=OpenTurn(turn=1, position=1, calls=4)),
    )
    calls = (call(0, "done", 3), call(1, "begun", 3), call(2, "begun", 1), call(3, "not_begun"))
    contract = session_contract(detail(state, calls=calls, tasks=(task(TaskStatus.RUNNING, 3),)))
    assert contract["pending"] == [
        {"tool_call_id": "call_1_1", "tool": "look", "args": {}, "why": "running"},
        {"tool_call_id": "call_1_2", "tool": "look", "args": {}, "why": "in doubt"},
        {"tool_call_id": "call_1_3", "tool": "look", "args": {}, "why": "not begun"},
    ]


def test_a_released_claims_call_is_in_doubt() -> None:
    state = SessionState(session_id="s-1", start_time=10)
    told = detail(state, calls=(call(0, "begun", 3),), tasks=(task(TaskStatus.READY, 3),))
    assert [pending["why"] for pending in session_contract(told)["pending"]] == ["in doubt"]  # type: ignore[index, union-attr]


def test_calls_are_the_steps_with_their_last_attempt_and_error() -> None:
    state = SessionState(
        session_id="s-1",
        start_time=10,
        step_statuses={"turn:1/call:0": StepStatus.FAILED, "turn:1/call:1": StepStatus.COMPLETED},
        failed_steps={"turn:1/call:0": StepFailure(error_type="timeout", message="too slow")},
    )
    updates = (
        StepUpdate(step_id="turn:1/call:0", update_type="status", payload={"attempt": 2}, seq=7),
        StepUpdate(step_id="turn:1/call:0", update_type="status", payload={"attempt": 1}, seq=3),
        StepUpdate(step_id="turn:1/call:1", update_type="result", payload={"attempt": 1}, seq=8),
    )
    assert session_contract(detail(state, updates=updates))["steps"] == [
        {
            "step_id": "turn:1/call:0",
            "status": "failed",
            "attempt": 2,
            "error": {"type": "timeout", "message": "too slow"},
        },
        {"step_id": "turn:1/call:1", "status": "completed", "attempt": 1, "error": None},
    ]


def test_a_failed_run_has_an_error_and_a_paused_one_has_none() -> None:
    ended = Termination(reason="failed", at=30, error_type="unauthorized", message="set a key")
    state = SessionState(session_id="s-1", start_time=10, runtime_state=SessionRuntimeState(termination=ended))
    assert session_contract(detail(state))["error"] == {"type": "unauthorized", "message": "set a key"}
    paused = Termination(reason="paused", at=30)
    state = state.model_copy(update={"runtime_state": SessionRuntimeState(termination=paused)})
    contract = session_contract(detail(state))
    assert contract["error"] is None
    assert contract["termination"] == {"reason": "paused", "at": 30, "error_type": None, "message": None}


def test_usage_is_that_of_all_runs_with_its_total() -> None:
    used = SessionRuntimeState(
        usage=RuntimeUsage(input_tokens=1), session_usage=RuntimeUsage(input_tokens=5, output_tokens=2)
    )
    usage = session_contract(detail(SessionState(session_id="s-1", start_time=1, runtime_state=used)))["usage"]
    assert isinstance(usage, dict)
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (5, 2, 7)


def test_the_last_answer_is_the_result_and_an_event_is_flat() -> None:
    answer = MemoryEntry(position=1, role=MemoryRole.ASSISTANT, content="well")
    state = SessionState(session_id="s-1", start_time=10, memory_entries=(USER, answer))
    event = Event(session_id="s-1", seq=1, at=11, type=EventType.TURN_STARTED, data={"turn": 1})
    contract = session_contract(detail(state, events=(event,)))
    assert contract["result"] == "well"
    assert contract["events"] == [{"seq": 1, "at": 11, "type": "turn_started", "turn": 1}]
    assert contract["messages"] == [
        {"position": 0, "role": "user", "content": "hi", "tool_calls": [], "tool_call_id": None},
        {"position": 1, "role": "assistant", "content": "well", "tool_calls": [], "tool_call_id": None},
    ]
