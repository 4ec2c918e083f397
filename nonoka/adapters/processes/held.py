"""A command that exists, with a pid to be recorded, and has done nothing yet."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nonoka.adapters.processes import procfs
from nonoka.adapters.processes.forks import close_private, private_descriptors
from nonoka.errors import NonokaError, ToolFailure
from nonoka.records.tool import ProcessGroup

# Standard input is the pipe that the shell waits on: nothing has to be inherited beyond 0, 1 and 2, and
# it is gone from the command once /dev/null takes its place. The end of the pipe means our death.
_HOLD = 'IFS= command read -r nonoka_let_go || exit 125; exec "$0" -c "$1" </dev/null'


@dataclass(slots=True)
class HeldProcess:
    """A shell that waits to be let go. ``output`` is the reading end of its stdout and stderr.

    Until ``reap`` its pid, which is the number of its group, can't be reused.
    """

    group: ProcessGroup
    output: int
    _control: int
    _popen: subprocess.Popen[bytes]

    def let_go(self) -> None:
        """The command runs. If the shell was killed meanwhile, that shows as its exit."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._control, b"\n")
        close_private(self._control)

    def abandon(self) -> None:
        """The command has not run and never will; nothing of it is left."""
        close_private(self._control)
        os.close(self.output)
        _discard(self._popen)

    def kill_group(self) -> None:
        """All of the group have had SIGKILL in one step, which a process that keeps forking can't outrun."""
        leader = procfs.process(self.group.group)
        if leader is not None and leader.started == self.group.started:
            with contextlib.suppress(PermissionError):
                os.killpg(self.group.group, signal.SIGKILL)

    def reap(self) -> int | None:
        """Nothing is held any more; the shell's exit code, negative for a signal.

        None if it lives (it hangs in the kernel), or its exit code was taken: SIGCHLD is ignored in this
        process, or another part of the program waits for any child.
        """
        os.close(self.output)
        # Not Popen.wait: where the exit code was taken, that says 0.
        try:
            ended, status = os.waitpid(self.group.group, os.WNOHANG)
        except ChildProcessError:
            self._popen.returncode = 0  # for subprocess it would go on running, with a warning
            return None
        if not ended:
            return None
        self._popen.returncode = os.waitstatus_to_exitcode(status)
        return self._popen.returncode


def spawn_held(command: str, *, cwd: Path, env: Mapping[str, str], mark: str) -> HeldProcess:
    """A shell of its own session and group waits to be let go, and ends by itself if this process dies.

    OSError if it can't be started (``cwd`` is missing, say); ToolFailure if the command is too long.
    """
    with contextlib.ExitStack() as inner, contextlib.ExitStack() as undo:
        held_end, control = _control_pipe()
        inner.callback(os.close, held_end)
        undo.callback(close_private, control)
        output, written_end = os.pipe()
        inner.callback(os.close, written_end)
        undo.callback(os.close, output)
        os.set_blocking(output, False)
        popen = _start_shell(command, cwd, {**env, procfs.MARK: mark}, held_end, written_end)
        undo.callback(_discard, popen)
        held = HeldProcess(_group_of(popen.pid, mark), output, control, popen)
        undo.pop_all()
    return held


def _control_pipe() -> tuple[int, int]:
    with private_descriptors() as private:
        reading, writing = os.pipe()
        private.add(writing)
    return reading, writing


def _start_shell(
    command: str, cwd: Path, env: Mapping[str, str], stdin: int, stdout: int
) -> subprocess.Popen[bytes]:
    bash = shutil.which("bash")
    # In POSIX mode bash doesn't run the file that BASH_ENV names before it waits.
    shell = [bash, "--posix"] if bash else ["/bin/sh"]
    try:
        return subprocess.Popen(
            [*shell, "-c", _HOLD, shell[0], command],
            cwd=cwd,
            env=env,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
        raise ToolFailure(
            f"the command ({len(command)} characters) and its environment are more than the kernel takes; "
            "write the command to a file and run that"
        ) from None


def _group_of(pid: int, mark: str) -> ProcessGroup:
    leader = procfs.process(pid)
    if leader is None:
        raise NonokaError(f"command {pid} was ended by something else before it could be recorded")
    return ProcessGroup(
        group=pid,
        started=leader.started,
        boot_id=procfs.boot_id(),
        pid_namespace=procfs.pid_namespace(),
        mark=mark,
    )


def _discard(popen: subprocess.Popen[bytes]) -> None:
    popen.kill()
    popen.wait()
