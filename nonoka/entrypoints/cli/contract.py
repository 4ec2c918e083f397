"""The contract of ``sessions show --json``, and of the last line of ``run --json``: every key is always there.

docs/cli.md says what each holds. A key is only ever added; times are integer milliseconds, UTC.
"""

from __future__ import annotations

from nonoka.decisions.final_answer import final_answer
from nonoka.entrypoints.cli.json_output import event_json
from nonoka.entrypoints.cli.list_contract import head_contract
from nonoka.records.base import JsonObject
from nonoka.records.commit import SessionDetail
from nonoka.records.memory import MemoryEntry
from nonoka.records.runtime import RuntimeUsage, Termination
from nonoka.records.step_run import WHOLE, PlanDetail, StepRun
from nonoka.records.task import Task, TaskStatus
from nonoka.records.tool import CallState


def session_contract(detail: SessionDetail) -> JsonObject:
    """Everything about one session, as programs read it."""
    state, runtime = detail.state, detail.state.runtime_state
    return {
        **head_contract(detail.index, state.status.value),
        "result": final_answer(state) if detail.plan is None else detail.plan.outputs,
        "error": _error(runtime.termination),
        "termination": runtime.termination.model_dump(mode="json") if runtime.termination else None,
        "turn_count": state.turn_count,
        "usage": _usage(runtime.session_usage),
        "limits": runtime.limits.model_dump(mode="json"),
        "messages": [_message(entry) for entry in state.memory_entries],
        "steps": [*_steps(detail)],
        "tasks": [_task(task) for task in detail.tasks],
        "pending": [*pending_calls(detail)],
        "events": [event_json(event) for event in detail.events],
    }


def pending_calls(detail: SessionDetail) -> list[JsonObject]:
    """The calls of the open turn that have no result yet, and why: running, not begun, or in doubt."""
    running = {task.fence for task in detail.tasks if task.status is TaskStatus.RUNNING}
    return [
        {"tool_call_id": call.call_id, "tool": call.name, "args": call.args, "why": _why(call, running)}
        for call in detail.calls
        if call.status != "done"
    ]


def _why(call: CallState, running: set[int]) -> str:
    if call.status == "not_begun":
        return "in doubt: somebody has to say whether it happened" if call.doubt == "ask" else "not begun"
    return "running" if call.fence in running else "in doubt"


def _error(ended: Termination | None) -> JsonObject | None:
    if ended is None or ended.error_type is None:
        return None
    return {"type": ended.error_type, "message": ended.message or ""}


def _usage(usage: RuntimeUsage) -> JsonObject:
    return {**usage.model_dump(mode="json"), "total_tokens": usage.total_tokens}


def _message(entry: MemoryEntry) -> JsonObject:
    return {
        "position": entry.position,
        "role": entry.role.value,
        "content": entry.content,
        "tool_calls": [{"id": call.id, "name": call.name, "args": call.args} for call in entry.tool_calls],
        "tool_call_id": entry.tool_call_id,
    }


def _steps(detail: SessionDetail) -> list[JsonObject]:
    if detail.plan is not None:
        return [_run(detail.plan, run) for run in detail.plan.runs]
    attempts: dict[str, int] = {}
    for update in sorted(detail.updates, key=lambda u: u.seq):
        attempt = update.payload.get("attempt")
        attempts[update.step_id] = attempt if isinstance(attempt, int) else 1
    return [
        {
            "step_id": step_id,
            "status": status.value,
            "attempt": attempts.get(step_id, 0),
            "error": _step_error(detail, step_id),
        }
        for step_id, status in detail.state.step_statuses.items()
    ]


def _run(plan: PlanDetail, run: StepRun) -> JsonObject:
    error: JsonObject | None = None
    if run.error_type is not None:
        error = {"type": run.error_type, "message": run.message or ""}
    return {
        "step_id": run.step_id,
        "status": run.status.value,
        "attempt": run.attempt,
        "error": error,
        "step": run.step,
        "item": None if run.item == WHOLE else run.item,
        "items": run.items,
        "reason": run.reason,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "session_id": run.child,
        "result": plan.results.get(run.step_id),
    }


def _step_error(detail: SessionDetail, step_id: str) -> JsonObject | None:
    failure = detail.state.failed_steps.get(step_id)
    return {"type": failure.error_type, "message": failure.message} if failure is not None else None


def _task(task: Task) -> JsonObject:
    return {
        "key": task.key,
        "status": task.status.value,
        "attempt": task.attempt,
        "fence": task.fence,
        "not_before": task.not_before,
    }
