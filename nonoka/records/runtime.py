"""Limits, usage and how a run ended. A resume restores these, it never makes them anew."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nonoka.records.base import Record


class RuntimeLimits(Record):
    """How far a run may go, and with prefix ``session_`` how far the session; None is no limit."""

    max_model_turns: int | None = Field(default=100, ge=1)
    max_tool_calls: int | None = Field(default=500, ge=0)
    max_wall_s: float | None = Field(default=None, gt=0)
    max_input_tokens: int | None = Field(default=None, ge=1)
    max_output_tokens: int | None = Field(default=None, ge=1)
    max_total_tokens: int | None = Field(default=None, ge=1)
    max_cost_usd: float | None = Field(default=None, gt=0)
    session_max_model_turns: int | None = Field(default=None, ge=1)
    session_max_tool_calls: int | None = Field(default=None, ge=0)
    session_max_wall_s: float | None = Field(default=None, gt=0)
    session_max_input_tokens: int | None = Field(default=None, ge=1)
    session_max_output_tokens: int | None = Field(default=None, ge=1)
    session_max_total_tokens: int | None = Field(default=None, ge=1)
    session_max_cost_usd: float | None = Field(default=None, gt=0)


class RuntimeUsage(Record):
    """What was used. ``estimated`` is true once any figure in it is an estimate of ours.

    ``active_ms`` is wall time from a run's start to its end without the time it was paused, counted up
    to the last commit that ended or paused it. ``cost_unknown`` is true once something was used whose price
    nobody knows: ``cost_usd`` is then only a part.
    """

    model_turns: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    active_ms: int = 0
    estimated: bool = False
    cost_unknown: bool = False

    @property
    def total_tokens(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens

    def plus(self, other: RuntimeUsage) -> RuntimeUsage:
        """Both together."""
        return RuntimeUsage(
            model_turns=self.model_turns + other.model_turns,
            tool_calls=self.tool_calls + other.tool_calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=self.cost_usd + other.cost_usd,
            active_ms=self.active_ms + other.active_ms,
            estimated=self.estimated or other.estimated,
            cost_unknown=self.cost_unknown or other.cost_unknown,
        )


class Termination(Record):
    """How the last run ended, or why it is paused. ``error_type`` is one of docs/errors.md's list."""

    reason: Literal["completed", "failed", "cancelled", "paused"]
    at: int
    error_type: str | None = None
    message: str | None = None


class OpenTurn(Record):
    """A turn whose assistant entry is committed and whose calls are not all answered.

    ``turn`` is the number the calls are named by, ``position`` the assistant entry's; the result of the
    call at place k (from 0) belongs at ``position + 1 + k``.
    """

    turn: int
    position: int
    calls: int


class RollbackRequest(Record):
    """Conversation and files are to go back to the end of turn ``to``; None undoes the last rollback.

    ``force``: though another session has changed the workspace since. ``before`` is the snapshot of the state
    that is being replaced, once it was taken.
    """

    to: int | None
    force: bool = False
    before: str | None = None


class SessionRuntimeState(Record):
    """Where a session stands in time and budget.

    ``usage`` counts the current run, ``session_usage`` all of them. ``clock_started_at`` is when the
    current unpaused stretch of the run began (ms UTC), None while nothing runs. ``deadline_at`` is when
    the tightest wall limit runs out, as things stand. ``signals_read`` is the highest signal that a
    claim has looked at; held messages stay undrained below it. ``last_input_tokens`` is the size of the
    newest request, the estimate for one that is lost with its worker. ``rewrites`` counts how often entries
    were withdrawn: what was read of the conversation under another count is not what it is now.
    ``rollback`` is asked for and not yet done.
    """

    limits: RuntimeLimits = RuntimeLimits()
    usage: RuntimeUsage = RuntimeUsage()
    session_usage: RuntimeUsage = RuntimeUsage()
    started_at: int | None = None
    clock_started_at: int | None = None
    deadline_at: int | None = None
    cancelled_at: int | None = None
    termination: Termination | None = None
    open_turn: OpenTurn | None = None
    signals_read: int = 0
    last_input_tokens: int = 0
    rewrites: int = 0
    rollback: RollbackRequest | None = None


class CompletionContract(Record):
    """What an answer must satisfy before a run counts as completed: for now, that there is one."""

    requires_answer: bool = True
