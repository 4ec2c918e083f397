"""A command is recorded before it does anything."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from nonoka.adapters.processes import procfs
from nonoka.errors import ToolFailure
from nonoka.ports.processes import Processes
from nonoka.records.tool import ProcessGroup
from tests.integration.processes.conftest import Run, nothing
from tests.support.processes import ENV, lives, program, read_line, until

DIES_BEFORE_LETTING_GO = """
    import asyncio, os, signal, sys
    from pathlib import Path
    from nonoka.adapters.clock import SystemClock
    from nonoka.adapters.processes import LocalProcesses

    async def die(group):
        print(group.model_dump_json(), flush=True)
        if sys.argv[3] == "with a forked child" and os.fork() == 0:
            print(os.getpid(), flush=True)
            signal.pause()
        sys.stdin.readline()
        os.kill(os.getpid(), signal.SIGKILL)

    processes = LocalProcesses(Path(sys.argv[1]), SystemClock())
    asyncio.run(processes.start(
        f"echo ran > {sys.argv[1]}/ran", cwd=Path("/"), env={}, mark=sys.argv[2], on_held=die))
"""


async def test_a_command_whose_starter_is_killed_before_letting_go_never_runs(tmp_path: Path, mark: str) -> None:
    with program(DIES_BEFORE_LETTING_GO, tmp_path, mark, "alone") as starter:
        held = ProcessGroup(**json.loads(read_line(starter)))
        assert lives(held.group)
        starter.communicate("\n")
    await until(lambda: not lives(held.group))
    assert not (tmp_path / "ran").exists()


async def test_a_forked_child_of_the_killed_starter_does_not_keep_the_command_waiting(
    tmp_path: Path, mark: str
) -> None:
    with program(DIES_BEFORE_LETTING_GO, tmp_path, mark, "with a forked child") as starter:
        held = ProcessGroup(**json.loads(read_line(starter)))
        forked = int(read_line(starter))
        try:
            assert starter.stdin is not None
            starter.stdin.write("\n")
            starter.stdin.flush()
            starter.wait()
            await until(lambda: not lives(held.group))
            assert lives(forked)
        finally:
            os.kill(forked, 9)
    assert not (tmp_path / "ran").exists()


async def test_nothing_has_run_while_the_command_is_held(run: Run, tmp_path: Path) -> None:
    seen: list[bool] = []

    async def look(group: ProcessGroup) -> None:
        seen.append(lives(group.group))
        await asyncio.sleep(0.1)  # time enough for a command that isn't held to do its work
        seen.append((tmp_path / "ran").exists())

    await run("touch ran", on_held=look)
    assert seen == [True, False]
    assert (tmp_path / "ran").exists()


async def test_the_file_that_bash_env_names_is_not_run_while_the_command_is_held(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rc").write_text("echo run >> times\n")
    await run("cat times", env={**ENV, "BASH_ENV": str(tmp_path / "rc")})
    assert (tmp_path / "times").read_text() == "run\n"


async def test_the_group_given_is_the_commands_own(run: Run, mark: str) -> None:
    given: list[ProcessGroup] = []

    async def keep(group: ProcessGroup) -> None:
        given.append(group)
        leader = procfs.process(group.group)
        assert leader is not None
        assert (leader.pid, leader.pid, leader.started) == (leader.group, leader.session, group.started)

    result = await run("echo $$", on_held=keep)
    (group,) = given
    assert int(result.output) == group.group
    assert (group.boot_id, group.pid_namespace) == (procfs.boot_id(), procfs.pid_namespace())
    assert group.mark == mark


async def test_a_command_whose_commit_fails_never_runs_and_is_reaped(run: Run, tmp_path: Path) -> None:
    given: list[ProcessGroup] = []

    async def fail(group: ProcessGroup) -> None:
        given.append(group)
        raise LookupError("no such claim")

    with pytest.raises(LookupError):
        await run("touch ran", on_held=fail)
    assert procfs.process(given[0].group) is None
    assert not (tmp_path / "ran").exists()


async def test_a_command_cancelled_while_it_is_held_never_runs_and_is_reaped(run: Run, tmp_path: Path) -> None:
    given: asyncio.Queue[ProcessGroup] = asyncio.Queue()

    async def wait_for_ever(group: ProcessGroup) -> None:
        given.put_nowait(group)
        await asyncio.Event().wait()

    task = asyncio.create_task(run("touch ran", on_held=wait_for_ever))
    group = await given.get()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert procfs.process(group.group) is None
    assert not (tmp_path / "ran").exists()


async def test_a_command_killed_while_it_is_held_ends_by_that_signal(run: Run, tmp_path: Path) -> None:
    async def kill(group: ProcessGroup) -> None:
        os.kill(group.group, 9)
        await until(lambda: not lives(group.group))

    assert (await run("touch ran", on_held=kill)).exit_code == -9
    assert not (tmp_path / "ran").exists()


async def test_a_command_inherits_no_descriptor_of_ours(
    processes: Processes, run: Run, tmp_path: Path, mark: str
) -> None:
    """Not while others are held and running, nor while a worker's lock is."""
    worker = processes.register("w1", "worker")
    other = await processes.start("sleep 300", cwd=tmp_path, env=ENV, mark=f"{mark}:other", on_held=nothing)
    listed: list[str] = []

    async def run_another(group: ProcessGroup) -> None:
        result = await run("ls /proc/$$/fd; true")
        listed.extend(result.output.decode().split())

    held = await processes.start("true", cwd=tmp_path, env=ENV, mark=f"{mark}:held", on_held=run_another)
    await held.finished(60)
    assert listed == ["0", "1", "2"]
    assert (await other.finished(0)).exit_code is None
    processes.unregister(worker)


async def test_a_held_start_leaves_no_descriptor_open(run: Run) -> None:
    async def fail(group: ProcessGroup) -> None:
        raise LookupError

    await run("true")
    before = set(os.listdir("/proc/self/fd"))
    await run("true")
    with pytest.raises(LookupError):
        await run("true", on_held=fail)
    with pytest.raises(FileNotFoundError):
        await run("true", cwd=Path("/no/such/place"))
    assert len(os.listdir("/proc/self/fd")) == len(before)


async def test_a_command_longer_than_the_kernel_takes_is_refused_in_words(run: Run) -> None:
    with pytest.raises(ToolFailure, match="write the command to a file"):
        await run("true " + "x" * 2_000_000)
