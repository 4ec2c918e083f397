"""Tools that do what no tool should, one for each way in which a tool can go wrong."""

from __future__ import annotations

import asyncio
import decimal
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from nonoka import ToolContext, tool

LONE = "\ud83d"


class Hostile:
    """Nothing of it can be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __str__(self) -> str:
        raise SystemExit(3)


class HostileList(list[int]):
    """Looks like a list, until somebody reads it."""

    def __iter__(self) -> Iterator[int]:
        raise KeyboardInterrupt

    __str__ = __repr__ = Hostile.__str__


class Unspeakable(Exception):
    """An exception without words."""

    def __str__(self) -> str:
        raise SystemExit("no words")


def _recursive() -> dict[str, Any]:
    inside: dict[str, Any] = {"a": 1}
    inside["again"] = inside
    return inside


#: What a tool returns, by name.
VALUES: dict[str, Callable[[], object]] = {
    "5 MB": lambda: "x" * 5_000_000,
    "5 MB of objects": lambda: [{"n": n, "text": "é" * 40} for n in range(40_000)],
    "carriage returns": lambda: "".join(f"{n} % done\r" for n in range(200_000)),
    "one line of 20 MB": lambda: "é" * 10_000_000,
    "cut in a character": lambda: "x" * 32_767 + "😀" * 10,
    "no UTF-8": lambda: b"\xff\xfe\x00text",
    "memoryview": lambda: memoryview(b"\xff" * 4_000_000),
    "NUL": lambda: "a\0b",
    "lone surrogates": lambda: f"{LONE} \udc00{LONE}",
    "lone surrogates in keys": lambda: {LONE: 1, f"{LONE}\0": {"\udfff": LONE}},
    "surrogates of the file system": lambda: os.fsdecode(b"caf\xe9.txt"),
    "set": lambda: {3, "a", None},
    "datetime": lambda: datetime(2024, 1, 2, tzinfo=UTC),
    "Decimal": lambda: [decimal.Decimal("1.10"), decimal.Decimal("sNaN")],
    "NaN": lambda: {"nan": float("nan"), "keys": {float("nan"): float("-inf")}},
    "recursive": _recursive,
    "deep": lambda: _deep(100_000),
    "hostile": Hostile,
    "hostile inside": lambda: {"it": [Hostile()], "key": {Hostile: 1}},
    "hostile list": lambda: [HostileList([1])],
    "an iterator": lambda: iter([1]),
    "an endless number": lambda: 1 << 200_000,
    "an exception": lambda: ExceptionGroup("several", [ValueError(LONE), Unspeakable()]),
    "nothing": lambda: None,
}

#: What a tool raises, by name.
ERRORS: dict[str, Callable[[], BaseException]] = {
    "an error": lambda: ValueError(f"no{LONE}\0"),
    "a large error": lambda: ValueError("x" * 5_000_000),
    "SystemExit": lambda: SystemExit(3),
    "KeyboardInterrupt": lambda: KeyboardInterrupt("stop"),
    "CancelledError": lambda: asyncio.CancelledError("mine"),
    "GeneratorExit": GeneratorExit,
    "StopIteration": lambda: StopIteration(1),
    "StopAsyncIteration": StopAsyncIteration,
    "TimeoutError": lambda: TimeoutError("mine"),
    "MemoryError": MemoryError,
    "RecursionError": lambda: RecursionError("too deep"),
    "BaseException": BaseException,
    "without words": Unspeakable,
    "a group": lambda: ExceptionGroup("several", [ValueError(LONE), ExceptionGroup("in", [Unspeakable()])]),
    "a group of exits": lambda: BaseExceptionGroup("several", [SystemExit(1), KeyboardInterrupt()]),
    "bad UTF-8": lambda: UnicodeDecodeError("utf-8", b"\xff" * 100, 0, 1, LONE),
}


def _deep(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


@tool
def returns(kind: str) -> Any:
    """Return something odd."""
    return VALUES[kind]()


@tool
async def returns_async(kind: str) -> Any:
    """Return something odd, on the loop."""
    return VALUES[kind]()


@tool
def raises(kind: str) -> str:
    """Raise something."""
    raise ERRORS[kind]()


@tool
async def raises_async(kind: str) -> str:
    """Raise something, on the loop."""
    await asyncio.sleep(0)
    raise ERRORS[kind]()


@tool(effect="workspace")
async def command(context: ToolContext, line: str, timeout_s: float = 30) -> dict[str, object]:
    """Run a command."""
    ended = await context.run(line, timeout_s=timeout_s)
    return {"exit_code": ended.exit_code, "output": ended.output}


FAULTY = [returns, returns_async, raises, raises_async, command]
