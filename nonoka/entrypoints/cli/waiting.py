"""What a session that is watched waits for, from its events and its tasks. Pure; the status line shows it."""

from __future__ import annotations

from nonoka.records.commit import Standing
from nonoka.records.event import Event, EventType
from nonoka.records.task import Task, TaskStatus

#: What is over sooner is not told.
LONG_MS = 2_000
#: What ends whatever was going on, or tells it in a line of its own.
_ENDS = frozenset(
    {
        EventType.TURN_RETRIED,
        EventType.TURN_RELEASED,
        EventType.TURN_FINISHED,
        EventType.SESSION_PAUSED,
        EventType.SESSION_COMPLETED,
        EventType.SESSION_FAILED,
        EventType.SESSION_CANCELLED,
    }
)


class Waiting:
    """Knows from the events what is going on. ``ours`` are this process's workers, None for who only looks."""

    def __init__(self, ours: frozenset[str] | None = None) -> None:
        self.ours = ours
        self._thinking_since: int | None = None
        self._calls: dict[str, tuple[str, int]] = {}
        self._why = ""

    def told(self, event: Event) -> None:
        """This has happened as well."""
        call_id = str(event.data.get("tool_call_id"))
        match event.type:
            case EventType.TURN_STARTED:
                self._calls.clear()
                self._thinking_since, self._why = event.at, ""
            case EventType.TEXT_STREAMED | EventType.MODEL_ANSWERED:
                self._thinking_since = None
            case EventType.CALL_STARTED:
                self._thinking_since = None
                self._calls[call_id] = str(event.data.get("tool")), event.at
            case EventType.CALL_FINISHED | EventType.CALL_SETTLED:
                self._calls.pop(call_id, None)
            case kind if kind in _ENDS:
                self._calls.clear()
                self._thinking_since = None
                self._why = _reason(event) if kind is EventType.TURN_RETRIED else ""

    def at(self, now: int, standing: Standing) -> str | None:
        """What it waits for now, if that is worth a line."""
        running = next((task for task in standing.live_tasks if task.status is TaskStatus.RUNNING), None)
        if running is not None:
            going_on = self._going_on(now)
            if self._is_anothers(running):
                return "; ".join(["another worker has this session", *going_on])
            return "; ".join(going_on) or None
        ready = next((task for task in standing.live_tasks if task.status is TaskStatus.READY), None)
        return self._until_taken(ready, now) if ready is not None else None

    def _is_anothers(self, task: Task) -> bool:
        return self.ours is not None and task.lease_owner not in self.ours

    def _going_on(self, now: int) -> list[str]:
        if self._calls:
            since = min(at for _, at in self._calls.values())
            names = ", ".join(sorted({tool for tool, _ in self._calls.values()}))
            verb = "have" if len(self._calls) > 1 else "has"
            told = f"{names} {verb} been running for {_length(now - since)}"
        elif self._thinking_since is not None:
            since = self._thinking_since
            told = f"the model has been thinking for {_length(now - since)}"
        else:
            return []
        return [told] if now - since >= LONG_MS else []

    def _until_taken(self, task: Task, now: int) -> str | None:
        if task.not_before > now:
            what = f"the model's server: {self._why}" if self._why else "its next attempt"
            return f"waiting {_length(task.not_before - now + 999)} for {what}"
        late = now - task.not_before
        return f"waiting for a worker for {_length(late)}" if late >= LONG_MS else None


def _reason(event: Event) -> str:
    return f"{str(event.data.get('error_type')).replace('_', ' ')}: {event.data.get('message')}"


def _length(ms: int) -> str:
    minutes, rest = divmod(max(0, ms) // 1000, 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
