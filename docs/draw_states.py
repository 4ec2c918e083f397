"""Prints docs/states.md from the transition table: ``python docs/draw_states.py > docs/states.md``."""

from __future__ import annotations

from nonoka.decisions.transitions import TERMINAL, TRANSITIONS, SessionEvent

WHY = {
    SessionEvent.BEGIN: "a worker claims the session's first task",
    SessionEvent.PROMPT: "a message starts a run, or joins the one that is going on",
    SessionEvent.ANSWER: "the model answered, asked for nothing, and no signal waits",
    SessionEvent.FAIL: "an error that can't pass, a limit, or five workers that died on one task",
    SessionEvent.CANCEL: "`sessions cancel`; calls without a result get one that says so",
    SessionEvent.PAUSE: "`sessions pause`, or Ctrl-C in `run`",
    SessionEvent.RESUME: "`sessions resume`",
    SessionEvent.RETRY: "`sessions retry` takes a failed run up again",
    SessionEvent.ROLL_BACK: "`sessions rollback` brought conversation and files back to an earlier turn",
}


def page() -> str:
    """The whole page."""
    lines = [
        "# The states of a session",
        "",
        "Drawn from `nonoka/decisions/transitions.py` by `docs/draw_states.py`; a test holds them together.",
        "",
        "```mermaid",
        "stateDiagram-v2",
        "    [*] --> created",
    ]
    for status, row in TRANSITIONS.items():
        for event, after in row.items():
            lines.append(f"    {status.value} --> {after.value}: {event.value}")
    lines += ["```", "", "| event | when |", "| --- | --- |"]
    lines += [f"| {event.value} | {WHY[event]} |" for event in SessionEvent]
    ended = ", ".join(sorted(status.value for status in TERMINAL))
    lines += [
        "",
        f"Terminal are {ended}: nothing happens there by itself, and each of them takes another prompt.",
        "A session that is neither terminal nor paused has a task that is ready, running or waiting.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201
