"""Real processes for tests: programs of our own to start and kill, and facts about processes to wait for."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nonoka.adapters.processes import procfs
from nonoka.adapters.processes.custody import living_of
from nonoka.records.tool import ProcessGroup

ENV = {"PATH": os.environ["PATH"]}


async def until(fact: Callable[[], bool], within_s: float = 20) -> None:
    """Return once the fact holds; TimeoutError if it doesn't in time."""
    async with asyncio.timeout(within_s):
        while not fact():  # noqa: ASYNC110 - facts about other processes come with no event
            await asyncio.sleep(0.01)


def lives(pid: int) -> bool:
    found = procfs.process(pid)
    return found is not None and found.living


def living_pids(mark: str, *groups: ProcessGroup) -> set[int]:
    return {one.pid for one in living_of(groups, mark)}


def group_led_by(pid: int, mark: str = "") -> ProcessGroup:
    """The group of a process that was started as a group's leader."""
    leader = procfs.process(pid)
    assert leader is not None
    return ProcessGroup(
        group=pid,
        started=leader.started,
        boot_id=procfs.boot_id(),
        pid_namespace=procfs.pid_namespace(),
        mark=mark,
    )


@contextmanager
def program(source: str, *args: str | Path, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """A Python program of these lines runs; what is left of it at the end is killed and reaped."""
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(source), *map(str, args)],
        env={**os.environ, **(env or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as popen:
        try:
            yield popen
        finally:
            popen.kill()


@contextmanager
def background(*argv: str, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A program leads a session of its own; its group is killed at the end."""
    with subprocess.Popen(argv, env=env, start_new_session=True) as popen:
        try:
            yield popen
        finally:
            if popen.poll() is None:
                os.killpg(popen.pid, 9)


def read_line(popen: subprocess.Popen[str]) -> str:
    """The next line that a program writes; it is blocked until then."""
    assert popen.stdout is not None
    return popen.stdout.readline().strip()
