"""What a program gets for a prompt."""

from __future__ import annotations

from nonoka.decisions.final_answer import final_answer
from nonoka.records.base import JsonObject, Record
from nonoka.records.runtime import RuntimeUsage, Termination
from nonoka.records.session import SessionState, SessionStatus


class RunResult(Record):
    """How a session's last run stands: ``data`` is the final answer, ``error`` why there is none.

    Of a plan ``outputs`` are what it brought, and there is no ``data``. ``status`` is completed, failed, cancelled
    or paused; running where it was handed back. ``usage`` counts all runs of the session.
    """

    session_id: str
    status: SessionStatus
    data: str | None = None
    outputs: JsonObject | None = None
    error: Termination | None = None
    usage: RuntimeUsage = RuntimeUsage()


def result_of(state: SessionState, outputs: JsonObject | None = None) -> RunResult:
    """How this session stands; ``outputs`` are those of its plan, if it runs one."""
    ended = state.runtime_state.termination
    return RunResult(
        session_id=state.session_id,
        status=state.status,
        data=final_answer(state),
        outputs=outputs,
        error=ended if ended is not None and ended.error_type else None,
        usage=state.runtime_state.session_usage,
    )
