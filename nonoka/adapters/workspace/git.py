"""The git program, run without a shell and without anything of the user's environment or configuration."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

from nonoka.adapters.workspace.stopping import Stop
from nonoka.errors import WorkspaceError

_KEPT = ("PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME", "LD_LIBRARY_PATH")


def clean_environment(**more: str) -> dict[str, str]:
    """What git may see: where programs and the home are, and what is given here."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", **more}


ISOLATED = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}


class GitFailed(WorkspaceError):
    """A git command ended with an error; ``said`` is what it wrote."""

    def __init__(self, command: str, said: str) -> None:
        super().__init__(f"git {command} failed: {said.strip() or 'it said nothing'}")
        self.said = said


class Running:
    """A git process that was started; in a ``with`` block, one that has ended by the end of it."""

    def __init__(self, process: subprocess.Popen[bytes], command: str, stop: Stop) -> None:
        self._process, self._command, self._stop = process, command, stop
        stop.watch(process)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_failure: object) -> None:
        if self._process.returncode is None:
            self._process.kill()
            self._process.communicate()
            self._stop.unwatch(self._process)

    def finish(self, given: bytes | None = None, ok: Iterable[int] = (0,)) -> tuple[bytes, bytes]:
        """What it wrote to stdout and to stderr. Raises GitFailed for an exit status that isn't ``ok``."""
        try:
            out, err = self._process.communicate(given)
        finally:
            self._stop.unwatch(self._process)
        self._stop.check()
        if self._process.returncode not in ok:
            raise GitFailed(self._command, err.decode("utf-8", "replace"))
        return out, err

    @property
    def pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """Its stdin and stdout, for a conversation; call ``finish`` at the end."""
        if self._process.stdin is None or self._process.stdout is None:
            raise WorkspaceError(f"git {self._command} was started without pipes")
        return self._process.stdin, self._process.stdout


class Git:
    """Git in one directory with one environment.

    ``held`` is the descriptor of a lock that every process started here holds as well: after a SIGKILL of
    this process the lock is free only when its last git has ended.
    """

    def __init__(
        self, directory: Path, environment: Mapping[str, str], stop: Stop, held: int | None = None
    ) -> None:
        self._directory, self._environment, self._stop = directory, dict(environment), stop
        self._held = () if held is None else (held,)

    def start(self, *args: str | bytes, options: Iterable[str] = ()) -> Running:
        """The process runs. WorkspaceError where there is no git, or no such directory."""
        self._stop.check()
        command = ["git", *(part for option in options for part in ("-c", option)), *args]
        try:
            process = subprocess.Popen(
                command,
                cwd=self._directory,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=self._held,
            )
        except OSError as error:
            raise WorkspaceError(_why_not_started(self._directory, error)) from error
        return Running(process, os.fsdecode(args[0]), self._stop)

    def run(
        self,
        *args: str | bytes,
        given: bytes | None = None,
        ok: Iterable[int] = (0,),
        options: Iterable[str] = (),
    ) -> bytes:
        """What the command wrote to stdout. Raises GitFailed, WorkspaceError."""
        return self.start(*args, options=options).finish(given, ok)[0]


def _why_not_started(directory: Path, error: OSError) -> str:
    if not directory.is_dir():
        return f"the workspace {str(directory)!r} is no directory"
    return f"git can't be started ({error.strerror or error}); snapshots need the git program on PATH"


def items(output: bytes) -> list[bytes]:
    """The parts of what git printed with ``-z``."""
    return output.split(b"\0")[:-1]
