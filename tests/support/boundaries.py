"""Every boundary between the engine and the outside, found by itself: a wrapper around the ports.

Each call through a port passes a numbered point before and after it ("after": it was made, its result is
lost), and each decision that runs inside a transaction one "inside". A run without a death lists them; given
one of them, the process dies there.
"""

from __future__ import annotations

import inspect
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from nonoka.engine.ports import Ports

When = Literal["before", "inside", "after"]
#: what is got through a port and is a boundary itself
_GIVEN = {"models.get": "model", "processes.start": "command"}


class Died(BaseException):
    """The death of a process that is only played: everything that it was doing is abandoned."""


@dataclass(frozen=True)
class Point:
    """The ``ordinal``-th (from 1) time that the call of this name is passed there, such as
    ``after store.commit 7``.
    """

    when: When
    name: str
    ordinal: int

    def __str__(self) -> str:
        return f"{self.when} {self.name} {self.ordinal}"

    @classmethod
    def parsed(cls, text: str) -> Point:
        """The point that is written so."""
        when, name, ordinal = text.split()
        (found,) = [known for known in get_args(When) if known == when]
        return cls(found, name, int(ordinal))


class Boundaries:
    """The points of one process. ``die`` is called at ``at`` (a point, or how many are passed before it)."""

    def __init__(self, at: Point | int | None, die: Callable[[Point], None]) -> None:
        self._at = at
        self._die = die
        self._lock = threading.Lock()
        self._times: Counter[tuple[When, str]] = Counter()
        self.passed: list[Point] = []
        self.dead = False

    def wrap(self, ports: Ports) -> Ports:
        """The ports, with a point at each call. Clock and agents are this side of the boundary."""
        return replace(
            ports,
            store=_Guarded("store", ports.store, self),
            broker=_Guarded("broker", ports.broker, self),
            models=_Guarded("models", ports.models, self),
            processes=_Guarded("processes", ports.processes, self),
            artifacts=_Guarded("artifacts", ports.artifacts, self),
        )

    def reach(self, when: When, name: str) -> None:
        """This point is passed, unless the process dies at it, or has died."""
        with self._lock:
            if self.dead:
                raise Died(f"dead already, at {when} {name}")
            self._times[when, name] += 1
            point = Point(when, name, self._times[when, name])
            self.dead = self._at in (point, len(self.passed))
            self.passed.append(point)
        if self.dead:
            self._die(point)


def play_death(point: Point) -> None:
    """To die in a process that goes on living."""
    raise Died(str(point))


class _Guarded:
    """A port, or what it gave, whose every method passes the boundaries."""

    def __init__(self, name: str, inner: Any, boundaries: Boundaries) -> None:
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
            self._boundaries.reach("before", name)
            result = await method(*self._deciding(name, args), **self._deciding_named(name, kwargs))
            self._boundaries.reach("after", name)
            return _Guarded(_GIVEN[name], result, self._boundaries) if name in _GIVEN else result

        return call

    def _sync(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._boundaries.reach("before", name)
            result = method(*args, **kwargs)
            self._boundaries.reach("after", name)
            return result

        return call

    def _deciding(self, name: str, args: tuple[Any, ...]) -> list[Any]:
        return [self._inside(name, value) for value in args]

    def _deciding_named(self, name: str, kwargs: dict[str, Any]) -> dict[str, Any]:
        return {key: self._inside(name, value) for key, value in kwargs.items()}

    def _inside(self, name: str, value: Any) -> Any:
        if self._name != "store" or not callable(value):
            return value

        def decide(view: Any) -> Any:
            self._boundaries.reach("inside", name)
            return value(view)

        return decide
