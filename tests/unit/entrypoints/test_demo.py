"""What the demo says of its own outcome: it must notice each kind of failure that it exists to show."""

from __future__ import annotations

from dataclasses import replace

from pydantic import JsonValue

from nonoka.decisions.calls import call_id, idempotency_key
from nonoka.entrypoints.cli.demo import closing
from nonoka.entrypoints.cli.demo.checks import checks
from nonoka.entrypoints.cli.demo.outcome import Act, Cut, Outcome
from nonoka.entrypoints.cli.demo.scenario import BUILD_CHANGES, BUILD_PART, CUT_PLACE, CUT_TURN, PARTS, Part
from nonoka.entrypoints.cli.demo.stage import Piece
from nonoka.entrypoints.cli.demo.telling import Telling
from nonoka.entrypoints.cli.demo.witness import Witnessed, read_witness
from nonoka.records.commit import SessionDetail
from nonoka.records.event import Event, EventType
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.session import SessionIndex, SessionState, SessionStatus

KILLED_AT = 1_500
CUT_KEY = idempotency_key("build-id", CUT_TURN, CUT_PLACE)


def calls_of(part: Part) -> list[tuple[str, str, bool]]:
    """Each call's id, its tool, and whether it is the one that is cut off."""
    found = []
    for turn, said in enumerate(part.says, start=1):
        asked = said["tool_calls"]
        assert isinstance(asked, list)
        for place, call in enumerate(asked):
            assert isinstance(call, dict)
            cut = part is BUILD_PART and (turn, place) == (CUT_TURN, CUT_PLACE)
            found.append((call_id(turn, place), str(call["name"]), cut))
    return found


def timeline(part: Part) -> tuple[Event, ...]:
    """What the store tells of a session that went as it should."""
    told: list[tuple[EventType, int, dict[str, JsonValue]]] = []
    for called, tool, cut in calls_of(part):
        about: dict[str, JsonValue] = {"tool_call_id": called, "tool": tool, "args": {}}
        told.append((EventType.CALL_STARTED, 1_000, {**about, "attempt": 1}))
        if cut:
            told += [
                (EventType.TURN_RELEASED, 2_000, {"turn": CUT_TURN}),
                (EventType.CALL_SETTLED, 2_000, {**about, "rolled_back": BUILD_CHANGES}),
                (EventType.TURN_STARTED, 2_100, {"turn": CUT_TURN, "attempt": 2, "worker": "b"}),
                (EventType.CALL_STARTED, 2_200, {**about, "attempt": 2}),
            ]
    told.append((EventType.SESSION_COMPLETED, 3_000, {}))
    return tuple(
        Event(session_id=f"{part.name}-id", seq=seq, at=at, type=kind, data=data)
        for seq, (kind, at, data) in enumerate(told, start=1)
    )


def conversation(part: Part) -> tuple[MemoryEntry, ...]:
    """The prompt, each call with its one result, and the answer."""
    said: list[tuple[MemoryRole, str, dict[str, JsonValue]]] = [(MemoryRole.USER, part.prompt, {})]
    for called, tool, _ in calls_of(part):
        asked: dict[str, JsonValue] = {"tool_calls": [{"id": called, "name": tool, "args": {}}]}
        said += [(MemoryRole.ASSISTANT, "", asked), (MemoryRole.TOOL, "ok", {"tool_call_id": called})]
    said.append((MemoryRole.ASSISTANT, part.answer, {}))
    return tuple(
        MemoryEntry(position=position, role=role, content=content, metadata=metadata)
        for position, (role, content, metadata) in enumerate(said)
    )


def act(part: Part) -> Act:
    session_id = f"{part.name}-id"
    state = SessionState(
        session_id=session_id, start_time=0, status=SessionStatus.COMPLETED, memory_entries=conversation(part)
    )
    index = SessionIndex(
        session_id=session_id,
        title=part.prompt,
        working_dir="/somewhere",
        agent="default",
        model="script:none.yaml",
        created_at=0,
        last_active=0,
    )
    detail = SessionDetail(
        index=index, state=state, tasks=(), calls=(), updates=(), events=timeline(part), signals=()
    )
    return Act(part, detail)


def good() -> Outcome:
    """An outcome as it should be."""
    acts = tuple(act(part) for part in PARTS)
    witnessed = []
    for each in acts:
        for call in each.calls:
            if call.tool == "run_command":
                witnessed += [Witnessed("began", call.key, attempt, 7) for attempt in range(1, call.begun + 1)]
                witnessed.append(Witnessed("done", call.key, call.begun, 7))
    return Outcome(
        acts=acts,
        cut=Cut("A", 4711, KILLED_AT, CUT_KEY),
        witnessed=tuple(witnessed),
        files={f"{part.name}/{path}": text for part in PARTS for path, text in part.after.items()},
    )


def faults(outcome: Outcome) -> list[str]:
    return [fault for check in checks(outcome) for fault in check.faults]


def with_state(outcome: Outcome, **update: object) -> Outcome:
    """The first session's state is another."""
    first, *others = outcome.acts
    detail = first.detail.model_copy(update={"state": first.detail.state.model_copy(update=update)})
    return replace(outcome, acts=(replace(first, detail=detail), *others))


def with_events(outcome: Outcome, *unwanted: EventType) -> Outcome:
    """The first session's timeline lacks these."""
    first, *others = outcome.acts
    events = tuple(event for event in first.detail.events if event.type not in unwanted)
    detail = first.detail.model_copy(update={"events": events})
    return replace(outcome, acts=(replace(first, detail=detail), *others))


def written(*lines: tuple[Piece, ...]) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


# --- the checks


def test_what_went_as_it_should_passes_every_check() -> None:
    assert faults(good()) == []
    assert "1 that the kill cut off began twice" in checks(good())[1].holds


def test_a_session_that_is_not_completed_is_noticed() -> None:
    assert "build is failed" in faults(with_state(good(), status=SessionStatus.FAILED))


def test_another_answer_is_noticed() -> None:
    entries = good().acts[0].detail.state.memory_entries
    other = (*entries[:-1], entries[-1].model_copy(update={"content": "Nothing is built."}))
    assert any("'Nothing is built.'" in fault for fault in faults(with_state(good(), memory_entries=other)))


def test_a_command_that_ran_once_more_than_the_timeline_tells_is_noticed() -> None:
    outcome = good()
    again = next(line for line in outcome.witnessed if line.key != CUT_KEY)
    assert any(again.key in fault for fault in faults(replace(outcome, witnessed=(*outcome.witnessed, again))))
    third = replace(again, attempt=2)
    assert any(again.key in fault for fault in faults(replace(outcome, witnessed=(*outcome.witnessed, third))))


def test_a_call_that_was_carried_through_twice_is_noticed() -> None:
    outcome = good()
    twice = (*outcome.witnessed, Witnessed("done", CUT_KEY, 1, 7))
    assert f"call {CUT_KEY} was carried through 2 times" in faults(replace(outcome, witnessed=twice))


def test_a_call_that_never_ran_is_noticed() -> None:
    outcome = good()
    key = next(line.key for line in outcome.witnessed if line.key != CUT_KEY)
    without = tuple(line for line in outcome.witnessed if line.key != key)
    assert f"call {key} was carried through 0 times" in faults(replace(outcome, witnessed=without))


def test_a_kill_that_cut_nothing_off_is_noticed() -> None:
    outcome = good()
    without = tuple(line for line in outcome.witnessed if (line.key, line.attempt) != (CUT_KEY, 1))
    assert any("was to be cut off" in fault for fault in faults(replace(outcome, witnessed=without)))


def test_a_call_that_began_again_without_being_settled_is_noticed() -> None:
    outcome = with_events(good(), EventType.CALL_SETTLED)
    assert f"call {CUT_KEY} began 2 times, but was cut off 0 times" in faults(outcome)


def test_what_nobody_asked_for_is_noticed() -> None:
    outcome = good()
    strange = (*outcome.witnessed, *read_witness("rm -rf /\n"), Witnessed("began", "other-id:1:0", 1, 7))
    found = faults(replace(outcome, witnessed=strange))
    assert "a command that no session asked for: rm -rf /" in found
    assert "a command that no session asked for: other-id:1:0" in found


def test_a_file_that_is_missing_or_holds_something_else_is_noticed() -> None:
    outcome = good()
    spoilt = {**outcome.files, "build/VERSION": "1.0\n", "build/draft.md": "# 1.1\n"}
    del spoilt["names/sorted.txt"]
    assert faults(replace(outcome, files=spoilt)) == [
        "names/sorted.txt is missing",
        "build/VERSION holds '1.0\\n'",
        "build/draft.md should not be there",
    ]


def test_a_line_that_is_there_twice_is_noticed() -> None:
    outcome = good()
    parts = str(outcome.files["build/parts.txt"])
    found = faults(replace(outcome, files={**outcome.files, "build/parts.txt": f"part 1\n{parts}"}))
    assert "'part 1' is there 2 times" in found


def test_a_workspace_that_was_not_rolled_back_is_noticed() -> None:
    """Or only in part."""
    for files in ({}, {"rolled_back": 1}):
        first, *others = good().acts
        events = tuple(
            event.model_copy(update={"data": {"tool_call_id": event.data["tool_call_id"], **files}})
            if event.type is EventType.CALL_SETTLED
            else event
            for event in first.detail.events
        )
        spoilt = replace(first, detail=first.detail.model_copy(update={"events": events}))
        (fault,) = faults(replace(good(), acts=(spoilt, *others)))
        assert fault.startswith(f"rollbacks of call {CUT_KEY}")


def test_a_call_without_its_result_is_noticed() -> None:
    entries = good().acts[0].detail.state.memory_entries
    without = tuple(entry for entry in entries if entry.position != 2)
    found = faults(with_state(good(), memory_entries=without))
    assert any(fault.startswith("build: call 'call_1_0'") for fault in found)
    assert any("11 calls began, and there are 10 results" in fault for fault in found)


def test_a_process_that_is_left_over_is_noticed() -> None:
    assert len(faults(replace(good(), left_over=1))) == 1


def test_calls_of_other_sessions_may_have_been_cut_off_too() -> None:
    """Whatever the killed worker held: such a call may even have ended just before its result was committed."""
    outcome = good()
    first, other, *rest = outcome.acts
    key, called = next((call.key, call) for call in other.calls if call.tool == "run_command")
    about: dict[str, JsonValue] = {"tool_call_id": f"call_{key.split(':')[1]}_0", "tool": called.tool, "args": {}}
    events = tuple(
        Event(session_id=other.detail.index.session_id, seq=seq, at=2_000, type=kind, data={**about, "attempt": 2})
        for seq, kind in enumerate((EventType.CALL_SETTLED, EventType.CALL_STARTED), start=100)
    )
    detail = other.detail.model_copy(update={"events": (*other.detail.events, *events)})
    acts = (first, replace(other, detail=detail), *rest)
    twice = (*outcome.witnessed, Witnessed("began", key, 2, 8), Witnessed("done", key, 2, 8))
    assert faults(replace(outcome, acts=acts, witnessed=twice)) == []


# --- what is shown


def test_the_witness_says_attempt_and_pid_under_the_key() -> None:
    assert read_witness(f"began {CUT_KEY}#2 4711\n") == (Witnessed("began", CUT_KEY, 2, 4711),)


def test_the_table_says_how_long_the_recovery_took() -> None:
    header, build, orders, _ = written(*closing.table(good()))
    assert header.split() == ["session", "id", "status", "turns", "calls", "attempts", "recovered", "in"]
    assert build.split() == ["build", "build-id", "completed", "0", "3", "4", "600", "ms"]
    assert orders.split()[-1] == "–"


def test_the_timelines_show_where_the_kill_was() -> None:
    build, orders, *_ = written(*closing.timelines(good()))
    assert build == "build    edit_file ─ run_command ─ ✂ ─ ↶ 4 ─ ↻ run_command ─ run_command ─ answer"
    assert "✂" not in orders


def test_a_check_that_fails_is_shown_with_what_speaks_against_it() -> None:
    lines = written(*closing.verdict(checks(replace(good(), files={}))))
    assert "  ✗ 10 files hold exactly what they should, and no other is there" in lines
    assert "    build/VERSION is missing" in lines


def test_a_call_that_has_ended_by_the_time_it_is_seen_takes_one_line() -> None:
    about: dict[str, JsonValue] = {"tool_call_id": "call_2_0", "tool": "run_command", "attempt": 1}
    begun = Event(
        session_id="s", seq=1, at=1_500, type=EventType.CALL_STARTED, data={**about, "args": {"command": "make"}}
    )
    ended = Event(
        session_id="s",
        seq=2,
        at=1_900,
        type=EventType.CALL_FINISHED,
        data={**about, "ok": True, "duration_ms": 400},
    )
    together = written(*Telling({"s": BUILD_PART}, {}, 1_000).lines([begun, ended]))
    assert together == ["  0.90 s  build     $ make ok 0.4 s"]
    telling = Telling({"s": BUILD_PART}, {}, 1_000)
    apart = written(*telling.lines([begun]), *telling.lines([ended]))
    assert apart == ["  0.50 s  build     $ make …", "  0.90 s  build     $ make ok 0.4 s"]


def test_a_second_attempt_is_shown_with_its_key() -> None:
    data: dict[str, JsonValue] = {
        "tool_call_id": "call_2_0",
        "tool": "run_command",
        "attempt": 2,
        "args": {"command": "make"},
    }
    again = Event(session_id="0123456789", seq=1, at=1_500, type=EventType.CALL_STARTED, data=data)
    (line,) = written(*Telling({"0123456789": BUILD_PART}, {}, 1_000).lines([again]))
    assert line.endswith("$ make … again: attempt 2, the same key 01234567…:2:0")
