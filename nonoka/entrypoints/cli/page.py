"""``sessions show`` for people: the page about one session. Pure."""

from __future__ import annotations

import shlex

from nonoka.entrypoints.cli.figures import age, clock_time, cost, counted, printable, seconds, shortened, tokens
from nonoka.entrypoints.cli.plan.steps import plan_section
from nonoka.entrypoints.cli.screen import Span, Style
from nonoka.entrypoints.cli.standstill import Workers, live_tasks, standstill
from nonoka.entrypoints.cli.statuses import goes_on_from, next_of, next_steps
from nonoka.entrypoints.cli.summary import STATUS_STYLE
from nonoka.entrypoints.cli.timeline import Timeline, called
from nonoka.records.commit import SessionDetail
from nonoka.records.event import EventType
from nonoka.records.memory import MemoryEntry, MemoryRole
from nonoka.records.session import SessionIndex, SessionStatus
from nonoka.records.signal import SignalKind

#: A result longer than this is cut on the page; --json has the whole.
RESULT = 400
#: So many events at the end of the timeline are shown.
TAIL = 12
_NOT_TOLD = (EventType.TEXT_STREAMED, EventType.PROMPT_ACCEPTED)


def session_page(detail: SessionDetail, workers: Workers, now: int) -> list[Span]:
    """Head, conversation, what it waits for and what would move it, the timeline's end, what to do next."""
    parts = [
        _head(detail, now),
        _conversation(detail),
        plan_section(detail.plan, now) if detail.plan is not None else [],
        _waits(standstill(detail, workers, now)),
        _tail(detail),
        _next(detail),
    ]
    page: list[Span] = []
    for part in parts:
        if part:
            page += [*([Span("\n")] if page else []), *part]
    return page


def _head(detail: SessionDetail, now: int) -> list[Span]:
    index, state = detail.index, detail.state
    usage, ended = state.runtime_state.session_usage, state.runtime_state.termination
    lines = [
        *_fact("session", index.session_id),
        *_fact("status", _status(detail), STATUS_STYLE.get(state.status, "strong")),
    ]
    if ended is not None and ended.error_type is not None:
        lines += _fact("error", f"{ended.error_type}: {ended.message}", "bad")
    spent = [counted(usage.model_turns, "turn"), counted(usage.tool_calls, "tool call"), tokens(usage)]
    spent += cost(usage)
    return [
        *lines,
        *_fact("agent", f"{index.agent} on {index.model}"),
        *_fact("directory", index.working_dir),
        *_branch(index),
        *_fact("created", f"{clock_time(index.created_at)} ({age(now - index.created_at)} ago)"),
        *_fact("active", f"{clock_time(index.last_active)} ({age(now - index.last_active)} ago)"),
        *_fact("used", ", ".join([*spent, seconds(usage.active_ms)])),
    ]


def _branch(index: SessionIndex) -> list[Span]:
    if index.worktree is None:
        return []
    repository, branch = index.worktree.repository, index.worktree.branch
    return _fact("branch", f"{branch}; to have its work: git -C {shlex.quote(repository)} merge {branch}")


def _status(detail: SessionDetail) -> str:
    """The status, and that it is about to change, where only a worker is wanted for that."""
    status = detail.state.status
    if not goes_on_from(status) or not live_tasks(detail):
        return status.value
    kinds = [
        signal.kind.value for signal in detail.signals if signal.kind in (SignalKind.RESUME, SignalKind.RETRY)
    ]
    return f"{status.value}; a {kinds[-1] if kinds else 'signal'} in its inbox waits for a worker"


def _conversation(detail: SessionDetail) -> list[Span]:
    return [span for entry in detail.state.memory_entries for span in _entry(entry)]


def _entry(entry: MemoryEntry) -> list[Span]:
    text = printable(entry.content)
    if entry.role is MemoryRole.TOOL:
        return [Span(f"  = {shortened(text, RESULT)}\n", "" if entry.metadata.get("ok") else "warn")]
    spans = [Span(f"{entry.role.value}: ", "strong"), Span(text.rstrip("\n") + "\n")]
    return [*spans, *(Span(f"  {called(call.name, call.args)}\n", "dim") for call in entry.tool_calls)]


def _waits(lines: list[str]) -> list[Span]:
    return [Span(printable(line) + "\n", "warn") for line in lines]


def _tail(detail: SessionDetail) -> list[Span]:
    told = [event for event in detail.events if event.type not in _NOT_TOLD]
    timeline, lines = Timeline(verbose=True), []
    for event in told:
        spans = [*timeline.told(event), *timeline.ended()]
        text = shortened("".join(span.text for span in spans), 160)
        if event.type is EventType.MODEL_ANSWERED or (event.type is EventType.SESSION_COMPLETED and not text):
            text = event.type.value.replace("_", " ")
        if event.type is not EventType.CALL_STARTED or event is told[-1]:
            lines.append(Span(f"{clock_time(event.at)}  {text}\n", "dim"))
    hidden = len(lines) - TAIL
    before = [Span(f"… {counted(hidden, 'earlier event')}: nonoka sessions watch\n", "dim")] if hidden > 0 else []
    return [*before, *lines[-TAIL:]]


def _next(detail: SessionDetail) -> list[Span]:
    session_id = detail.index.session_id
    steps = (
        next_steps(session_id, SessionStatus.RUNNING, plan=detail.plan is not None)
        if live_tasks(detail)
        else next_of(detail.state)
    )
    return [Span("next: ", "strong"), Span(steps + "\n")]


def _fact(name: str, value: str, style: Style = "") -> list[Span]:
    return [Span(f"{name:<10}", "dim"), Span(printable(value) + "\n", style)]
