from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from nonoka.adapters.clock import SystemClock
from nonoka.adapters.processes import LocalProcesses
from nonoka.adapters.processes.custody import living_of
from nonoka.ports.processes import CommandResult, OnHeld, Processes
from nonoka.records.tool import ProcessGroup
from tests.support.processes import ENV

Run = Callable[..., Coroutine[None, None, CommandResult]]


async def nothing(group: ProcessGroup) -> None:
    """For commands whose group needn't be recorded."""


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return LocalProcesses(tmp_path / "workers", SystemClock())


@pytest.fixture
def mark() -> Iterator[str]:
    mark = f"test:{uuid.uuid4()}"
    yield mark
    left = living_of((), mark)
    for one in left:
        os.kill(one.pid, 9)
    assert left == set(), "the test left processes behind"


@pytest.fixture
def run(processes: Processes, tmp_path: Path, mark: str) -> Run:
    async def run_to_its_end(
        command: str,
        *,
        timeout_s: float = 60,
        env: dict[str, str] = ENV,
        cwd: Path = tmp_path,
        on_held: OnHeld = nothing,
    ) -> CommandResult:
        started = await processes.start(command, cwd=cwd, env=env, mark=mark, on_held=on_held)
        return await started.finished(timeout_s)

    return run_to_its_end
