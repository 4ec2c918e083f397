"""What the demo checks of its own outcome, for any interleaving. Pure: an outcome in, ticks and crosses out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nonoka.decisions.conversation_rules import first_fault
from nonoka.decisions.final_answer import final_answer
from nonoka.entrypoints.cli.demo.outcome import CallStory, Outcome
from nonoka.entrypoints.cli.demo.scenario import BUILD_CHANGES, BUILD_PART
from nonoka.entrypoints.cli.figures import counted
from nonoka.records.memory import MemoryRole
from nonoka.records.session import SessionStatus


@dataclass(frozen=True, slots=True)
class Check:
    """Something that must hold, and what speaks against it."""

    holds: str
    faults: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """It holds."""
        return not self.faults


def checks(outcome: Outcome) -> tuple[Check, ...]:
    """All of them, in the order in which they are shown."""
    return (
        _completed(outcome),
        _begun(outcome),
        _rolled_back(outcome),
        _carried_through(outcome),
        _appended(outcome),
        _files(outcome),
        _results(outcome),
        _left_over(outcome),
    )


def _completed(outcome: Outcome) -> Check:
    faults = []
    for act in outcome.acts:
        status, answer = act.detail.state.status, final_answer(act.detail.state)
        if status is not SessionStatus.COMPLETED:
            faults.append(f"{act.part.name} is {status.value}")
        elif answer != act.part.answer:
            faults.append(f"{act.part.name} answered {answer!r}, not {act.part.answer!r}")
    return Check(
        f"all {counted(len(outcome.acts), 'session')} are completed, with the answers they should have",
        tuple(faults),
    )


def _begun(outcome: Outcome) -> Check:
    """Each attempt of a call begins its command once; the one we cut off began twice, under one key."""
    commands = _commands(outcome)
    again = [key for key in commands if len(_attempts(outcome, key, "began")) > 1]
    faults = [
        f"a command that no session asked for: {line.key}"
        for line in outcome.witnessed
        if line.key not in commands
    ]
    for key, call in commands.items():
        faults += _faults_of_begins(call, _attempts(outcome, key, "began"))
    if outcome.cut.key not in again:
        faults.append(f"call {outcome.cut.key} was to be cut off and begin again, and did not")
    once = len(commands) - len(again)
    return Check(
        f"{counted(once, 'command')} began once; {len(again)} that the kill cut off began twice, under one key",
        tuple(faults),
    )


def _faults_of_begins(call: CallStory, began: list[int]) -> Iterator[str]:
    if call.begun != call.cut_off + 1:
        yield f"call {call.key} began {call.begun} times, but was cut off {call.cut_off} times"
    if len(began) != len(set(began)):
        yield f"an attempt of call {call.key} began its command more than once: attempts {began}"
    # An attempt that was cut off may not have come to its command; the last one has.
    if not set(began) <= set(range(1, call.begun + 1)) or call.begun not in began:
        yield f"call {call.key} began in attempts {began}, of {call.begun} that the timeline tells"


def _rolled_back(outcome: Outcome) -> Check:
    """The cut came after the build had changed all these files, and before anything ran again."""
    call = outcome.calls.get(outcome.cut.key)
    files = call.rolled_back if call else ()
    faults = () if files == (BUILD_CHANGES,) else (f"rollbacks of call {outcome.cut.key}, in files: {files}",)
    return Check(
        f"before that its workspace was rolled back to its snapshot: {counted(BUILD_CHANGES, 'file')}", faults
    )


def _carried_through(outcome: Outcome) -> Check:
    """The call that we cut off could not end before it was recovered; others may, just before the kill."""
    faults = []
    for key, call in _commands(outcome).items():
        done = _attempts(outcome, key, "done")
        most = 1 if key == outcome.cut.key else 1 + call.cut_off
        if not 1 <= len(done) <= most:
            faults.append(f"call {key} was carried through {len(done)} times")
    return Check("each of them was carried through once", tuple(faults))


def _appended(outcome: Outcome) -> Check:
    """What the cut-off attempt had appended is not there beside what the next one did."""
    wanted = [line for line in BUILD_PART.after["parts.txt"].splitlines() if line.startswith("part ")]
    there = (outcome.files.get(f"{BUILD_PART.name}/parts.txt") or "").splitlines()
    faults = [f"{line!r} is there {there.count(line)} times" for line in wanted if there.count(line) != 1]
    return Check(f"each of the {len(wanted)} lines that the build appends is there once", tuple(faults))


def _files(outcome: Outcome) -> Check:
    wanted = {f"{act.part.name}/{path}": text for act in outcome.acts for path, text in act.part.after.items()}
    faults = [f"{path} is missing" for path in wanted if path not in outcome.files]
    for path, text in outcome.files.items():
        if path not in wanted:
            faults.append(f"{path} should not be there")
        elif text != wanted[path]:
            faults.append(f"{path} holds {text!r}")
    return Check(
        f"{counted(len(wanted), 'file')} hold exactly what they should, and no other is there", tuple(faults)
    )


def _results(outcome: Outcome) -> Check:
    faults, results = [], 0
    for act in outcome.acts:
        entries = act.detail.state.memory_entries
        results += sum(entry.role is MemoryRole.TOOL for entry in entries)
        if fault := first_fault(entries):
            faults.append(f"{act.part.name}: {fault}")
    if results != len(outcome.calls):
        faults.append(f"{counted(len(outcome.calls), 'call')} began, and there are {counted(results, 'result')}")
    return Check(
        f"{counted(results, 'call')} have exactly one result each, right after who asked for it", tuple(faults)
    )


def _left_over(outcome: Outcome) -> Check:
    faults = (f"processes that the demo had to end: {outcome.left_over}",) if outcome.left_over else ()
    return Check("nothing that a call had started was still running", faults)


def _commands(outcome: Outcome) -> dict[str, CallStory]:
    return {key: call for key, call in outcome.calls.items() if call.tool == "run_command"}


def _attempts(outcome: Outcome, key: str, what: str) -> list[int]:
    return [line.attempt for line in outcome.witnessed if line.key == key and line.what == what]
