"""Every boundary between the engine and the outside, found by itself: a wrapper around the ports.

Each call through a port passes a numbered point before and after it ("after": it was made, its result is
lost), each decision that runs inside a transaction one "inside", and each event one before and one after
its commit. A run without a death lists them; given one of them, the process dies there.
"""

from __future__ import annotations

import inspect
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from nonoka.engine.ports import Ports
from nonoka.records.commit import NewSession
from nonoka.records.event import NewEvent
from nonoka.testing.points import Point, When

#: what is got through a port and is a boundary itself
_GIVEN = {"models.get": "model", "processes.start": "command"}


class Died(BaseException):
    """The death of a process that is only played: everything that it was doing is abandoned."""


def play_death(point: Point) -> None:
    """To die in a process that goes on living."""
    raise Died(str(point))


class Boundaries:
    """The points of one process. ``die`` is called at ``at`` (a point, or how many calls are passed before it).

    ``passed`` are the points of the ports' calls, ``told`` those of the events: other names for some of the
    same moments.
    """

    def __init__(self, at: Point | int | None, die: Callable[[Point], None] = play_death) -> None:
        self._at = at
        self._die = die
        self._lock = threading.Lock()
        self._times: Counter[tuple[When, str]] = Counter()
        self.passed: list[Point] = []
        self.told: list[Point] = []
        self.dead = False

    def wrap(self, ports: Ports) -> Ports:
        """The ports, with a point at each call. Clock and agents are this side of the boundary."""
        return replace(
            ports,
            store=self._guarded("store", ports.store),
            broker=self._guarded("broker", ports.broker),
            models=self._guarded("models", ports.models),
            processes=self._guarded("processes", ports.processes),
            artifacts=self._guarded("artifacts", ports.artifacts),
            snapshots=self._guarded("snapshots", ports.snapshots),
            workspace_use=self._guarded("workspace_use", ports.workspace_use),
            worktrees=self._guarded("worktrees", ports.worktrees),
        )

    def count_from_here(self, at: Point | None) -> None:
        """What was passed so far doesn't count; the process dies at this point from here on."""
        with self._lock:
            self._at = at
            self._times.clear()
            self.passed.clear()
            self.told.clear()

    def reach(self, when: When, name: str) -> None:
        """The call of a port is passed there, unless the process dies at it, or has died."""
        self._pass(when, name, self.passed)

    def tell(self, when: When, events: Iterable[NewEvent]) -> None:
        """These events are passed, in their order, unless the process dies at one of them."""
        for event in events:
            self._pass(when, event.type.value, self.told)

    def _pass(self, when: When, name: str, noted: list[Point]) -> None:
        with self._lock:
            if self.dead:
                raise Died(f"dead already, at {when} {name}")
            self._times[when, name] += 1
            point = Point(when, name, self._times[when, name])
            self.dead = self._at == point or (noted is self.passed and self._at == len(noted))
            noted.append(point)
        if self.dead:
            self._die(point)

    def _guarded(self, name: str, inner: object) -> Any:
        return _Guarded(name, inner, self)


class _Guarded:
    """A port, or what it gave, whose every method passes the boundaries."""

    def __init__(self, name: str, inner: object, boundaries: Boundaries) -> None:
        self._name = name
        self._inner = inner
        self._boundaries = boundaries

    def __getattr__(self, attribute: str) -> Any:
        method = getattr(self._inner, attribute)
        if not callable(method):
            return method
        name = f"{self._name}.{attribute}"
        return self._async(name, method) if inspect.iscoroutinefunction(method) else self._sync(name, method)

    def _async(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            told: list[NewEvent] = []
            self._boundaries.reach("before", name)
            result = await method(
                *[self._inside(name, value, told) for value in args],
                **{key: self._inside(name, value, told) for key, value in kwargs.items()},
            )
            self._boundaries.reach("after", name)
            self._boundaries.tell("after", told)
            return _Guarded(_GIVEN[name], result, self._boundaries) if name in _GIVEN else result

        return call

    def _sync(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._boundaries.reach("before", name)
            result = method(*args, **kwargs)
            self._boundaries.reach("after", name)
            return result

        return call

    def _inside(self, name: str, value: Any, told: list[NewEvent]) -> Any:
        if isinstance(value, NewSession):
            self._boundaries.tell("before", value.events)
            told += value.events
        if self._name != "store" or not callable(value):
            return value

        def decide(view: Any) -> Any:
            self._boundaries.reach("inside", name)
            changes = value(view)
            self._boundaries.tell("before", changes.events)
            told.extend(changes.events)
            return changes

        return decide
