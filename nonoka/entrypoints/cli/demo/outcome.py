"""What has come of the demo: everything that is checked and summed up in the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nonoka.decisions.calls import idempotency_key
from nonoka.entrypoints.cli.demo.scenario import Part
from nonoka.entrypoints.cli.demo.witness import Witnessed
from nonoka.records.commit import SessionDetail
from nonoka.records.event import Event, EventType


@dataclass(frozen=True, slots=True)
class Cut:
    """The kill: which worker, when (ms UTC), and the call that it was in the middle of."""

    worker: str
    pid: int
    at: int
    key: str


@dataclass(frozen=True, slots=True)
class CallStory:
    """A call as the timeline tells it: how often it began, and how often it was cut off.

    ``rolled_back``: how many files each of those rollbacks changed back, where there was one.
    """

    key: str
    tool: str
    begun: int
    cut_off: int
    rolled_back: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Act:
    """A session and what the store holds of it."""

    part: Part
    detail: SessionDetail

    def events(self, *types: EventType) -> Iterator[Event]:
        """Its events of these types, in their order."""
        return (event for event in self.detail.events if event.type in types)

    @property
    def calls(self) -> tuple[CallStory, ...]:
        """Its calls, in the order in which they began."""
        begun, cut_off = self._told(EventType.CALL_STARTED), self._told(EventType.CALL_SETTLED)
        return tuple(
            CallStory(
                key=self._key(call_id),
                tool=str(told[0].data["tool"]),
                begun=len(told),
                cut_off=len(cut_off.get(call_id, ())),
                rolled_back=tuple(files for event in cut_off.get(call_id, ()) for files in _rolled_back(event)),
            )
            for call_id, told in begun.items()
        )

    def recovered_after(self, cut: Cut) -> int | None:
        """Ms from the kill until another worker had what the killed one held of it; None if it held nothing."""
        released = next(self.events(EventType.TURN_RELEASED), None)
        if released is None:
            return None
        taken_up = [event.at for event in self.events(EventType.TURN_STARTED) if event.seq > released.seq]
        return taken_up[0] - cut.at if taken_up else None

    def _told(self, kind: EventType) -> dict[str, list[Event]]:
        found: dict[str, list[Event]] = {}
        for event in self.events(kind):
            found.setdefault(str(event.data["tool_call_id"]), []).append(event)
        return found

    def _key(self, call_id: str) -> str:
        _, turn, place = call_id.split("_")
        return idempotency_key(self.detail.index.session_id, int(turn), int(place))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The whole: ``files`` are those that are there (None: it can't be read), ``left_over``
    how many processes of calls still ran."""

    acts: tuple[Act, ...]
    cut: Cut
    witnessed: tuple[Witnessed, ...]
    files: dict[str, str | None]
    left_over: int = 0

    @property
    def calls(self) -> dict[str, CallStory]:
        """All calls of all sessions, by their key."""
        return {call.key: call for act in self.acts for call in act.calls}


def _rolled_back(settled: Event) -> Iterator[int]:
    files = settled.data.get("rolled_back")
    if isinstance(files, int):
        yield files
