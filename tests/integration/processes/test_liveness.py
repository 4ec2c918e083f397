"""Whose worker died: locks, start times, and the end of a frozen one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nonoka.adapters.processes import kill
from nonoka.errors import NonokaError
from nonoka.ports.processes import Processes
from nonoka.records.task import Liveness, Worker
from tests.support.processes import lives, program, read_line, until

WORKS = """
    import os, signal, subprocess, sys
    from pathlib import Path
    from nonoka.adapters.clock import SystemClock
    from nonoka.adapters.processes import LocalProcesses

    processes = LocalProcesses(Path(sys.argv[1]), SystemClock())
    worker = processes.register("w1", "worker")
    print(worker.model_dump_json(), flush=True)
    if sys.argv[2] == "leaks its lock":
        fd, = [int(n) for n in os.listdir("/proc/self/fd")
               if os.path.realpath(f"/proc/self/fd/{n}") == worker.lock_path]
        print(subprocess.Popen(["sleep", "300"], pass_fds=[fd], stdout=subprocess.DEVNULL).pid, flush=True)
    if sys.argv[2] == "forks":
        child = os.fork()
        if child == 0:
            processes.unregister(worker)
            print(os.getpid(), flush=True)
        signal.pause()
    for line in sys.stdin:
        processes.unregister(worker)
        print("unregistered", flush=True)
"""


@contextmanager
def worker_process(where: Path, habit: str = "plain") -> Iterator[tuple[subprocess.Popen[str], Worker]]:
    with program(WORKS, where, habit) as popen:
        yield popen, Worker(**json.loads(read_line(popen)))


def elsewhere(worker: Worker) -> Worker:
    """The same worker seen from another container, where pids mean nothing and only the lock can tell."""
    return worker.model_copy(update={"pid_namespace": "pid:[1]"})


def test_a_worker_lives_while_its_process_does(processes: Processes, tmp_path: Path) -> None:
    with worker_process(tmp_path) as (popen, worker):
        assert processes.liveness(worker) is Liveness.ALIVE
        assert processes.liveness(elsewhere(worker)) is Liveness.ALIVE
        popen.kill()
        popen.wait()
        assert processes.liveness(worker) is Liveness.DEAD
        assert processes.liveness(elsewhere(worker)) is Liveness.DEAD


async def test_a_killed_worker_that_nobody_has_reaped_is_dead(processes: Processes, tmp_path: Path) -> None:
    with worker_process(tmp_path) as (popen, worker):
        popen.send_signal(signal.SIGKILL)
        await until(lambda: not lives(worker.pid))
        assert processes.liveness(worker) is Liveness.DEAD


def test_a_worker_of_this_process_lives_until_it_is_unregistered(processes: Processes) -> None:
    worker = processes.register("w1", "run")
    assert processes.liveness(worker) is Liveness.ALIVE
    assert processes.liveness(elsewhere(worker)) is Liveness.ALIVE
    assert (os.stat(worker.lock_path).st_mode & 0o777, os.stat(worker.lock_path).st_ino) == (
        0o600,
        worker.lock_inode,
    )
    assert (worker.pid, worker.uid, worker.kind) == (os.getpid(), os.getuid(), "run")
    processes.unregister(worker)
    assert not Path(worker.lock_path).exists()
    processes.unregister(worker)


def test_a_worker_id_is_never_used_twice(processes: Processes) -> None:
    worker = processes.register("w1", "worker")
    with pytest.raises(NonokaError, match="'w1'"):
        processes.register("w1", "worker")
    assert processes.liveness(elsewhere(worker)) is Liveness.ALIVE
    processes.unregister(worker)


def test_a_worker_of_another_boot_is_dead(processes: Processes, tmp_path: Path) -> None:
    with worker_process(tmp_path) as (_, worker):
        assert processes.liveness(worker.model_copy(update={"boot_id": "earlier"})) is Liveness.DEAD


def test_another_process_with_the_workers_pid_is_not_the_worker(processes: Processes, tmp_path: Path) -> None:
    with worker_process(tmp_path) as (_, worker):
        reused = worker.model_copy(update={"pid_started": worker.pid_started - 1})
        assert processes.liveness(reused) is Liveness.DEAD


def test_a_frozen_worker_is_alive(processes: Processes, tmp_path: Path) -> None:
    with worker_process(tmp_path) as (popen, worker):
        popen.send_signal(signal.SIGSTOP)
        assert processes.liveness(worker) is Liveness.ALIVE
        assert processes.liveness(elsewhere(worker)) is Liveness.ALIVE


def test_a_lock_that_a_child_holds_does_not_make_a_dead_worker_alive(processes: Processes, tmp_path: Path) -> None:
    with worker_process(tmp_path, "leaks its lock") as (popen, worker):
        child = int(read_line(popen))
        try:
            popen.kill()
            popen.wait()
            assert processes.liveness(elsewhere(worker)) is Liveness.ALIVE  # the lock is held indeed
            assert processes.liveness(worker) is Liveness.DEAD
        finally:
            os.kill(child, 9)


def test_a_forked_child_keeps_no_lock_and_frees_none(processes: Processes, tmp_path: Path) -> None:
    with worker_process(tmp_path, "forks") as (popen, worker):
        child = int(read_line(popen))
        try:
            assert processes.liveness(elsewhere(worker)) is Liveness.ALIVE
            popen.kill()
            popen.wait()
            assert lives(child)
            assert processes.liveness(elsewhere(worker)) is Liveness.DEAD
        finally:
            os.kill(child, 9)


def test_a_worker_whose_lock_file_was_deleted_is_told_by_its_process(processes: Processes, tmp_path: Path) -> None:
    with worker_process(tmp_path) as (popen, worker):
        os.unlink(worker.lock_path)
        assert processes.liveness(worker) is Liveness.ALIVE
        assert processes.liveness(elsewhere(worker)) is Liveness.UNKNOWN
        assert not Path(worker.lock_path).exists(), "asking must not create the file"
        popen.kill()
        popen.wait()
        assert processes.liveness(worker) is Liveness.DEAD


def test_a_recreated_lock_file_does_not_read_as_free(processes: Processes, tmp_path: Path) -> None:
    with worker_process(tmp_path) as (_, worker):
        os.unlink(worker.lock_path)
        Path(worker.lock_path).touch()
        assert processes.liveness(worker) is Liveness.ALIVE
        assert processes.liveness(elsewhere(worker)) is Liveness.UNKNOWN


def test_a_fifo_in_place_of_the_lock_file_says_nothing(processes: Processes, tmp_path: Path) -> None:
    with worker_process(tmp_path) as (_, worker):
        os.unlink(worker.lock_path)
        os.mkfifo(worker.lock_path)
        assert processes.liveness(elsewhere(worker)) is Liveness.UNKNOWN


def test_those_who_ask_at_one_time_do_not_disturb_one_another(processes: Processes, tmp_path: Path) -> None:
    """A lock that is being asked about by another process reads as it is."""
    with worker_process(tmp_path) as (popen, worker):
        popen.kill()
        popen.wait()
    with program(
        """
        import fcntl, os, sys
        fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_SH)
        print("asking", flush=True)
        sys.stdin.read()
        """,
        worker.lock_path,
    ) as asker:
        assert read_line(asker) == "asking"
        assert processes.liveness(elsewhere(worker)) is Liveness.DEAD


async def test_a_frozen_worker_can_be_ended(processes: Processes, tmp_path: Path) -> None:
    with worker_process(tmp_path) as (popen, worker):
        popen.send_signal(signal.SIGSTOP)
        assert await processes.end_owner(worker)
        assert not lives(worker.pid)
        assert processes.liveness(worker) is Liveness.DEAD
        assert await processes.end_owner(worker), "to end it again is no failure"


async def test_a_process_never_ends_itself(processes: Processes) -> None:
    worker = processes.register("w1", "run")
    assert not await processes.end_owner(worker)
    processes.unregister(worker)


async def test_an_owner_of_another_container_is_left_alone(processes: Processes, tmp_path: Path) -> None:
    with worker_process(tmp_path) as (popen, worker):
        assert not await processes.end_owner(elsewhere(worker))
        assert popen.poll() is None


async def test_an_owner_of_another_boot_is_gone(processes: Processes, tmp_path: Path) -> None:
    with worker_process(tmp_path) as (popen, worker):
        assert await processes.end_owner(worker.model_copy(update={"boot_id": "earlier"}))
        assert popen.poll() is None


async def test_a_process_that_got_the_owners_pid_later_is_left_alone(processes: Processes, tmp_path: Path) -> None:
    with worker_process(tmp_path) as (popen, worker):
        assert await processes.end_owner(worker.model_copy(update={"pid_started": worker.pid_started - 1}))
        assert popen.poll() is None
        assert not kill.send_signal(worker.pid, worker.pid_started - 1, signal.SIGKILL)
        assert popen.poll() is None


async def test_an_owner_of_another_user_can_not_be_ended(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(signal, "pidfd_send_signal", refuse)
    with worker_process(tmp_path) as (popen, worker):
        assert not await processes.end_owner(worker)
        assert popen.poll() is None
