"""A command ends when its shell does, with its output so far, and leaves nothing."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
import threading
from pathlib import Path

import pytest

from nonoka.adapters.clock import SystemClock
from nonoka.adapters.processes import LocalProcesses, commands, procfs
from nonoka.adapters.processes.output import KEPT_BYTES
from nonoka.ports.processes import CommandResult, Processes
from nonoka.records.tool import ProcessGroup
from tests.integration.processes.conftest import Run, nothing
from tests.support.processes import ENV, living_pids, program, read_line, until


async def test_output_and_errors_come_in_the_order_written_with_the_exit_code(run: Run) -> None:
    result = await run("echo one; echo two >&2; echo three; exit 3")
    assert result == CommandResult(exit_code=3, output=b"one\ntwo\nthree\n")


async def test_a_background_child_that_holds_the_output_does_not_delay_the_end(run: Run, mark: str) -> None:
    result = await run("(sleep 300 &); echo hi")
    assert result == CommandResult(exit_code=0, output=b"hi\n")
    assert living_pids(mark) == set()


async def test_a_background_child_that_never_stops_writing_does_not_delay_the_end(run: Run, mark: str) -> None:
    result = await run("yes & echo hi")
    assert result.exit_code == 0
    assert b"hi\n" in result.output
    assert living_pids(mark) == set()


@pytest.mark.parametrize(
    "left_behind",
    [
        "sleep 300 &",
        "(setsid sh -c 'setsid sleep 300 & sleep 300 &' &) >/dev/null 2>&1; sleep 0.1",
        "set -m; sleep 300 & ",
        "env -i sleep 300 &",
        "nohup sleep 300 >/dev/null 2>&1 & disown",
        "sh -c \"trap '' TERM HUP INT; sleep 300; sleep 300\" &",
    ],
    ids=["child", "daemonised", "own group", "without the mark", "nohup", "deaf to signals"],
)
async def test_what_a_command_leaves_behind_is_ended(run: Run, mark: str, left_behind: str) -> None:
    given: list[ProcessGroup] = []

    async def keep(group: ProcessGroup) -> None:
        given.append(group)

    result = await run(left_behind, on_held=keep)
    assert result.exit_code == 0
    assert living_pids(mark, *given) == set()
    assert not [one for one in procfs.processes() if one.session == given[0].group and one.living]


async def test_a_process_that_keeps_forking_away_does_not_escape(run: Run, tmp_path: Path) -> None:
    """Each of its pids lives for less than it takes to find and signal it; the group as a whole is hit."""
    (tmp_path / "hare.py").write_text("import os\nwhile True:\n    if os.fork():\n        os._exit(0)\n")
    given: list[ProcessGroup] = []

    async def keep(group: ProcessGroup) -> None:
        given.append(group)

    result = await run(f"{sys.executable} -S hare.py; sleep 0.1; echo hi", on_held=keep)
    assert result == CommandResult(exit_code=0, output=b"hi\n")
    try:
        await until(lambda: not _has_members(given[0].group))
    finally:
        if _has_members(given[0].group):
            os.killpg(given[0].group, 9)


async def test_500_mb_of_output_are_drained_into_bounded_memory(run: Run) -> None:
    result = await run("echo first; yes | head -c 500000000; echo last")
    assert result.exit_code == 0
    assert len(result.output) == 2 * KEPT_BYTES
    assert result.dropped_bytes == 500_000_000 + len("first\nlast\n") - 2 * KEPT_BYTES
    assert result.output.startswith(b"first\ny\n")
    assert result.output.endswith(b"y\nlast\n")


async def test_all_that_was_written_before_the_exit_is_there(run: Run) -> None:
    result = await run("head -c 300000 /dev/zero")
    assert result.output == bytes(300_000)


async def test_the_input_is_at_its_end(run: Run) -> None:
    assert (await run("cat; read x || echo end")).output == b"end\n"
    assert (await run("readlink /proc/$$/fd/0; true")).output == b"/dev/null\n"


async def test_the_environment_is_what_was_given_and_the_mark(run: Run, mark: str) -> None:
    given = {"PATH": ENV["PATH"], "A": "b\nc", "EMPTY": "", "a.name": "1", "NONOKA_CALL": "another"}
    given |= {"BASH_FUNC_f%%": "() {  echo hi\n}", "BASH_FUNC_read%%": "() {  exit 1\n}"}
    result = await run("cat /proc/self/environ; true", env=given)
    found = dict(entry.split("=", 1) for entry in result.output.decode().split("\0") if entry)
    added_by_the_shell = {"PWD", "SHLVL", "_", "OLDPWD"}
    assert {name: found[name] for name in found.keys() - added_by_the_shell} == {**given, "NONOKA_CALL": mark}


async def test_without_bash_the_command_runs_in_sh(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert (await run("echo $0; read x || echo end")).output == b"/bin/sh\nend\n"


async def test_with_bash_the_command_runs_in_plain_bash(run: Run) -> None:
    result = await run("[[ -o posix ]] || echo ${BASH_VERSION:+bash}")
    assert result.output == b"bash\n"


@pytest.fixture
def run_out_of_time(processes: Processes, tmp_path: Path, mark: str) -> Run:
    """Runs a command whose time is over once it has made the file ``begun``."""

    async def run_until_begun(command: str) -> CommandResult:
        started = await processes.start(command, cwd=tmp_path, env=ENV, mark=mark, on_held=nothing)
        await until((tmp_path / "begun").exists)
        return await started.finished(0)

    return run_until_begun


async def test_a_timeout_ends_all_and_keeps_the_output(run_out_of_time: Run, mark: str) -> None:
    result = await run_out_of_time("echo before; sleep 300 & touch begun; sleep 300; true")
    assert result == CommandResult(exit_code=None, output=b"before\n")
    assert living_pids(mark) == set()


async def test_what_has_to_be_tidied_up_on_a_timeout_may_be(
    run_out_of_time: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "GRACE_S", 20)
    result = await run_out_of_time("trap 'echo tidied; exit' TERM; echo before; sleep 300 & touch begun; wait")
    assert result == CommandResult(exit_code=None, output=b"before\ntidied\n")


async def test_what_is_deaf_to_sigterm_is_ended_on_a_timeout(run_out_of_time: Run, mark: str) -> None:
    result = await run_out_of_time("trap '' TERM; echo before; touch begun; sleep 300; sleep 300; true")
    assert result == CommandResult(exit_code=None, output=b"before\n")
    assert living_pids(mark) == set()


@pytest.mark.parametrize("deaf", ["", "trap '' TERM;"], ids=["obeys", "deaf to SIGTERM"])
@pytest.mark.parametrize("cancels", [1, 3])
async def test_a_cancelled_command_is_gone_before_the_cancel_is_raised(
    processes: Processes, tmp_path: Path, mark: str, deaf: str, cancels: int
) -> None:
    command = await processes.start(
        f"{deaf} (setsid sleep 300 &); sleep 300 & touch begun; sleep 300; sleep 300",
        cwd=tmp_path,
        env=ENV,
        mark=mark,
        on_held=nothing,
    )
    task = asyncio.create_task(command.finished(60))
    await until(lambda: (tmp_path / "begun").exists())
    for _ in range(cancels):
        task.cancel()
        await asyncio.sleep(0.02)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert living_pids(mark) == set()


async def test_no_zombie_is_left(run: Run) -> None:
    given: list[ProcessGroup] = []

    async def keep(group: ProcessGroup) -> None:
        given.append(group)

    await run("true", on_held=keep)
    await run("sleep 300", on_held=keep, timeout_s=0.05)
    assert [procfs.process(group.group) for group in given] == [None, None]


async def test_commands_run_side_by_side(processes: Processes, tmp_path: Path, mark: str) -> None:
    async def one(number: int) -> bytes:
        command = await processes.start(
            f"sleep 0.1; echo {number}", cwd=tmp_path, env=ENV, mark=f"{mark}:{number}", on_held=nothing
        )
        return (await command.finished(60)).output

    results = await asyncio.gather(*(one(number) for number in range(20)))
    assert results == [b"%d\n" % number for number in range(20)]


def test_commands_run_in_an_event_loop_of_another_thread(tmp_path: Path, mark: str) -> None:
    """Where Dramatiq's loop runs; no child watcher of the main thread is needed."""
    results: list[CommandResult] = []

    async def work() -> None:
        processes = LocalProcesses(tmp_path, SystemClock())
        for command, timeout_s in (("echo hi; exit 4", 60.0), ("sleep 300", 0.05)):
            started = await processes.start(command, cwd=tmp_path, env=ENV, mark=mark, on_held=nothing)
            results.append(await started.finished(timeout_s))

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    thread.join()
    assert results == [
        CommandResult(exit_code=4, output=b"hi\n"),
        CommandResult(exit_code=None, output=b""),
    ]


async def test_commands_run_where_the_kernel_has_no_pidfd(
    run: Run, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(pid: int, flags: int = 0) -> int:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(os, "pidfd_open", missing)
    result = await run("(setsid sleep 300 &) ; sleep 300 & echo hi; exit 4")
    assert result == CommandResult(exit_code=4, output=b"hi\n")
    assert (await run("sleep 300", timeout_s=0.05)).exit_code is None
    assert living_pids(mark) == set()


async def test_an_exit_code_that_was_taken_is_not_read_as_success(tmp_path: Path, mark: str) -> None:
    """SIGCHLD ignored, as inherited from a careless parent: the kernel then keeps no exit codes."""
    source = """
        import asyncio, signal, sys
        from pathlib import Path
        from nonoka.adapters.clock import SystemClock
        from nonoka.adapters.processes import LocalProcesses
        from nonoka.errors import NonokaError

        async def nothing(group): pass

        async def main():
            processes = LocalProcesses(Path(sys.argv[1]), SystemClock())
            command = await processes.start("exit 3", cwd=Path("/"), env={}, mark=sys.argv[2], on_held=nothing)
            try:
                print(await command.finished(60))
            except NonokaError as error:
                print(error)

        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        asyncio.run(main())
    """
    with program(source, tmp_path, mark) as careless:
        assert "was taken by another part" in read_line(careless)


def _has_members(group: int) -> bool:
    """Whether the kernel knows anything of this group, zombies that nobody has reaped yet included."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
