"""Why a session stands still, and what would move it: what ``sessions show`` tells people. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nonoka.decisions.inbox import interrupts
from nonoka.entrypoints.cli.contract import pending_calls
from nonoka.entrypoints.cli.doctor.work import of_lost_claims
from nonoka.entrypoints.cli.figures import age, clock_time, counted, seconds, shortened
from nonoka.entrypoints.cli.timeline import called
from nonoka.records.commit import LostClaim, SessionDetail
from nonoka.records.event import EventType
from nonoka.records.session import SessionStatus
from nonoka.records.signal import Signal, SignalKind
from nonoka.records.task import WORKSPACE, Liveness, Task, TaskStatus, Worker

#: The message of the last failure, at most.
WHY = 160
_OVER = (TaskStatus.DONE, TaskStatus.DEAD)


@dataclass(frozen=True, slots=True)
class Workers:
    """Who works on the store, and what they hold."""

    liveness: Mapping[Worker, Liveness] = field(default_factory=dict)
    claims: Sequence[LostClaim] = ()

    @property
    def any_works(self) -> bool:
        """Whether a worker may be there that takes up what is ready; of one elsewhere it can't be told."""
        return any(w.kind == "worker" and state is not Liveness.DEAD for w, state in self.liveness.items())

    def owner(self, task: Task) -> tuple[Worker | None, Liveness]:
        """Who holds a running task, and whether it lives."""
        for worker, liveness in self.liveness.items():
            if worker.worker_id == task.lease_owner:
                return worker, liveness
        return None, Liveness.UNKNOWN


def live_tasks(detail: SessionDetail) -> list[Task]:
    """What is still to be done for it."""
    return [task for task in detail.tasks if task.status not in _OVER]


def standstill(detail: SessionDetail, workers: Workers, now: int) -> list[str]:
    """A line for each thing that it waits for: what it is, since when, and what would move it."""
    live = live_tasks(detail)
    lines = [f"{task.key}: {_standing(detail, task, workers, now)}" for task in live]
    for call in pending_calls(detail):
        say = f"; nonoka sessions answer {detail.index.session_id}" if "somebody" in str(call["why"]) else ""
        lines.append(f"{call['tool_call_id']}: {called(str(call['tool']), call['args'])} is {call['why']}{say}")
    lines += _paused(detail, now) if not live else []
    return [*lines, *(_unread(signal, detail, live, now) for signal in detail.signals)]


def _standing(detail: SessionDetail, task: Task, workers: Workers, now: int) -> str:
    match task.status:
        case TaskStatus.RUNNING:
            return _held(task, workers, now)
        case TaskStatus.WAITING:
            return (
                f"waits for its {task.waits_for}{_holder(detail)}"
                if task.waits_for == WORKSPACE
                else (f"waits for {task.waits_for}")
            )
        case _ if task.not_before > now:
            failed = counted(task.retries, "failure")
            wait = f"waits {seconds(task.not_before - now)} for another try ({failed} so far{_why(detail)})"
            return f"{wait}; at once: nonoka sessions resume {task.session_id}{_by_whom(task, workers)}"
        case _:
            waited = f"waits for a worker, {age(now - task.not_before)} so far" if task.not_before else ""
            return (waited or "waits for a worker") + _by_whom(task, workers)


def _holder(detail: SessionDetail) -> str:
    told = [event for event in detail.events if event.type is EventType.TASK_WAITING]
    return f", which {told[-1].data.get('holder')} is changing" if told else ""


def _by_whom(task: Task, workers: Workers) -> str:
    if workers.any_works:
        return ""
    return f"; none is running: nonoka worker, or nonoka sessions resume {task.session_id} --here"


def _why(detail: SessionDetail) -> str:
    told = [event for event in detail.events if event.type is EventType.TURN_RETRIED]
    if not told:
        return ""
    kind, message = (str(told[-1].data.get(key) or "") for key in ("error_type", "message"))
    return f"; the last: {kind.replace('_', ' ')}: {shortened(message, WHY)}"


def _held(task: Task, workers: Workers, now: int) -> str:
    owner, liveness = workers.owner(task)
    if owner is not None and liveness is Liveness.DEAD:
        released = "a running worker releases it by itself" if workers.any_works else "nonoka sweep releases it"
        return f"its worker (pid {owner.pid}) died, seen {age(now - owner.seen_at)} ago; {released}"
    mine = [claim for claim in workers.claims if claim.task.task_id == task.task_id]
    for lost in of_lost_claims(dict(workers.liveness), mine):
        return f"{lost.found}; {lost.remedy}"
    return f"worker {task.lease_owner} has it (attempt {task.attempt})"


def _paused(detail: SessionDetail, now: int) -> list[str]:
    ended = detail.state.runtime_state.termination
    if detail.state.status is not SessionStatus.PAUSED or ended is None:
        return []
    why = f"{ended.error_type}: {ended.message}" if ended.error_type else ended.message or _PAUSED_BY
    return [f"paused since {clock_time(ended.at)} ({age(now - ended.at)} ago): {why}"]


#: Of a pause that says no reason; its signal doesn't say by which of these ways it came.
_PAUSED_BY = "somebody asked for it (sessions pause, Ctrl-C in nonoka run, or a program)"


def _unread(signal: Signal, detail: SessionDetail, live: Sequence[Task], now: int) -> str:
    told = f"in its inbox: {signal.kind.value}, {age(now - signal.created_at)} ago"
    heard = _heard(
        signal, detail, running=any(task.status is TaskStatus.RUNNING for task in live), live=bool(live)
    )
    return f"{told}: {heard}"


def _heard(signal: Signal, detail: SessionDetail, *, running: bool, live: bool) -> str:
    if not live:
        needed = "answer" if any(call.doubt == "ask" for call in detail.calls) else "resume"
        return f"read after: nonoka sessions {needed} {detail.index.session_id}"
    if not running:
        return "heard once a worker takes it up"
    if interrupts(signal):
        return "heard within 2 s"
    if signal.kind is SignalKind.PAUSE:
        return f"heard after the call in flight; sooner: nonoka sessions pause {detail.index.session_id} --now"
    return "heard after the calls in flight"
