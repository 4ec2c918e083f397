"""What a dead worker's call started is ended, and nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nonoka.adapters.processes import custody
from nonoka.errors import NonokaError
from nonoka.ports.processes import Processes
from nonoka.records.tool import ProcessGroup
from tests.support.processes import (
    ENV,
    background,
    group_led_by,
    lives,
    living_pids,
    program,
    read_line,
    until,
)

STARTS_A_COMMAND = """
    import asyncio, sys
    from pathlib import Path
    from nonoka.adapters.clock import SystemClock
    from nonoka.adapters.processes import LocalProcesses

    async def tell(group):
        print(group.model_dump_json(), flush=True)

    async def main():
        processes = LocalProcesses(Path(sys.argv[1]), SystemClock())
        command = await processes.start(
            sys.argv[3], cwd=Path(sys.argv[1]), env={"PATH": sys.argv[4]}, mark=sys.argv[2], on_held=tell)
        await command.finished(300)

    asyncio.run(main())
"""


async def killed_worker_with(command: str, where: Path, mark: str) -> ProcessGroup:
    """A worker was killed after its command had made the file ``begun``."""
    with program(STARTS_A_COMMAND, where, mark, command, ENV["PATH"]) as worker:
        group = ProcessGroup(**json.loads(read_line(worker)))
        await until((where / "begun").exists)
        worker.kill()
    return group


async def test_the_command_of_a_killed_worker_runs_on_until_it_is_ended(
    processes: Processes, tmp_path: Path, mark: str
) -> None:
    group = await killed_worker_with("sleep 300 & touch begun; sleep 300; true", tmp_path, mark)
    assert lives(group.group)
    assert await processes.end((group,), mark) == 3
    assert living_pids(mark, group) == set()
    assert await processes.end((group,), mark) == 0


async def test_a_background_process_is_ended_when_its_shell_is_gone(
    processes: Processes, tmp_path: Path, mark: str
) -> None:
    """By the number of a group whose leader is gone, and which one member with the mark proves."""
    command = "env -i sleep 300 & sleep 300 & touch begun; exec sleep 300"
    group = await killed_worker_with(command, tmp_path, mark)
    os.kill(group.group, 9)
    await until(lambda: not lives(group.group))
    assert await processes.end((group,), mark) == 2


async def test_a_daemonised_process_is_found_by_its_mark(processes: Processes, tmp_path: Path, mark: str) -> None:
    command = "(setsid sh -c 'setsid sleep 300 & sleep 300' &); touch begun; sleep 300; true"
    group = await killed_worker_with(command, tmp_path, mark)
    await until(lambda: len(living_pids(mark)) == 5)
    os.killpg(group.group, 9)
    assert await processes.end((), mark) >= 3
    assert living_pids(mark) == set()


async def test_a_reused_group_number_is_not_hit(processes: Processes) -> None:
    """A leader with another start time: the call's group ended long ago."""
    with background("sleep", "300") as innocent:
        group = group_led_by(innocent.pid)
        reused = group.model_copy(update={"started": group.started - 1})
        assert await processes.end((reused,), "test:nobody") == 0
        assert lives(innocent.pid)
        assert await processes.end((group,), "test:nobody") == 1
        assert not lives(innocent.pid)


async def test_a_group_without_leader_and_mark_is_not_hit(processes: Processes, tmp_path: Path) -> None:
    """It may be another's whose leader, of the same number, is gone too."""
    pid_file = tmp_path / "pid"
    with background("sh", "-c", f"sleep 300 & echo $! > {pid_file}.new; mv {pid_file}.new {pid_file}") as leader:
        group = group_led_by(leader.pid)
        leader.wait()
        await until(pid_file.exists)
        innocent = int(pid_file.read_text())
        try:
            assert await processes.end((group,), "test:nobody") == 0
            assert lives(innocent)
        finally:
            os.kill(innocent, 9)


async def test_a_longer_mark_that_begins_alike_is_not_hit(processes: Processes, mark: str) -> None:
    with background("sleep", "300", env={**ENV, "NONOKA_CALL": f"{mark}:10"}) as other:
        assert await processes.end((), f"{mark}:1") == 0
        assert lives(other.pid)


async def test_a_name_that_ends_like_the_marks_is_not_hit(processes: Processes, mark: str) -> None:
    with background("sleep", "300", env={**ENV, "MY_NONOKA_CALL": mark}) as other:
        assert await processes.end((), mark) == 0
        assert lives(other.pid)


async def test_groups_of_another_boot_are_over(processes: Processes) -> None:
    with background("sleep", "300") as innocent:
        group = group_led_by(innocent.pid).model_copy(update={"boot_id": "an-earlier-boot"})
        assert await processes.end((group,), "test:nobody") == 0
        assert lives(innocent.pid)


async def test_groups_of_another_container_are_refused_in_words(processes: Processes) -> None:
    with background("sleep", "300") as innocent:
        group = group_led_by(innocent.pid).model_copy(update={"pid_namespace": "pid:[1]"})
        with pytest.raises(NonokaError, match=rf"{innocent.pid} .* another container"):
            await processes.end((group,), "test:nobody")
        assert lives(innocent.pid)


async def test_a_process_that_settles_a_call_it_was_started_by_outlives_that(tmp_path: Path, mark: str) -> None:
    """`nonoka sweep` inside a command whose worker died."""
    source = """
        import asyncio, sys
        from pathlib import Path
        from nonoka.adapters.clock import SystemClock
        from nonoka.adapters.processes import LocalProcesses

        processes = LocalProcesses(Path(sys.argv[1]), SystemClock())
        print(asyncio.run(processes.end((), sys.argv[2])), flush=True)
    """
    with (
        background("sleep", "300", env={**ENV, "NONOKA_CALL": mark}) as sibling,
        program(source, tmp_path, mark, env={"NONOKA_CALL": mark}) as sweeper,
    ):
        assert read_line(sweeper) == "1"
        assert sweeper.wait() == 0
        assert not lives(sibling.pid)


async def test_a_stopped_process_is_ended(processes: Processes, mark: str) -> None:
    with background("sh", "-c", "kill -STOP $$", env={**ENV, "NONOKA_CALL": mark}) as stopped:
        await until(lambda: _state(stopped) == "T")
        assert await processes.end((group_led_by(stopped.pid, mark),), mark) == 1


async def test_a_process_whose_first_thread_has_ended_still_lives(processes: Processes, mark: str) -> None:
    """It shows as a zombie in /proc, and its environment as empty."""
    source = """
        import ctypes, threading, time
        threading.Thread(target=time.sleep, args=(300,)).start()
        ctypes.CDLL(None).pthread_exit(None)
    """
    with background(sys.executable, "-c", "\n".join(map(str.strip, source.splitlines()))) as headless:
        await until(lambda: _state(headless) == "Z")
        assert lives(headless.pid)
        assert await processes.end((group_led_by(headless.pid),), mark) == 1
        assert not lives(headless.pid)


async def test_what_can_not_be_ended_is_named(
    processes: Processes, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(pid: int, started: int, number: int) -> bool:
        raise PermissionError

    monkeypatch.setattr(custody, "send_signal", refuse)
    monkeypatch.setattr(custody, "BOUND_S", 0.2)
    with background("sleep", "300") as of_root:
        with pytest.raises(NonokaError, match=rf"processes {of_root.pid} of call '{mark}' still live"):
            await processes.end((group_led_by(of_root.pid),), mark)
        assert lives(of_root.pid)


def _state(popen: subprocess.Popen[bytes]) -> str:
    return Path(f"/proc/{popen.pid}/stat").read_text().rpartition(")")[2].split()[0]
