"""A command that runs: its output is taken in, its end noticed, and what it leaves behind ended."""

from __future__ import annotations

import array
import asyncio
import contextlib
import fcntl
import os
import termios
from collections.abc import Mapping
from pathlib import Path

from nonoka.adapters.processes.custody import Custody
from nonoka.adapters.processes.exits import watch_exit
from nonoka.adapters.processes.held import HeldProcess, spawn_held
from nonoka.adapters.processes.output import CappedOutput
from nonoka.errors import NonokaError
from nonoka.ports.processes import CommandResult, OnHeld

#: between SIGTERM and SIGKILL; a cancelled call must be gone within 5 s, of which learning of it takes 2
GRACE_S = 1.0
_CHUNK_BYTES = 65_536


async def start_command(
    command: str, *, cwd: Path, env: Mapping[str, str], mark: str, on_held: OnHeld, custody: Custody
) -> LocalCommand:
    """The command runs, and ``on_held`` has returned before it did anything.

    If ``on_held`` raises or is cancelled, the command never ran and nothing of it is left. Await
    ``finished`` at once: only that reaps it.
    """
    held = spawn_held(command, cwd=cwd, env=env, mark=mark)
    try:
        await on_held(held.group)
        running = LocalCommand(held, custody)
    except BaseException:
        held.abandon()
        raise
    held.let_go()
    return running


class LocalCommand:
    """A command that was let go. Its pipe is drained whatever it writes, by the loop that started it."""

    def __init__(self, held: HeldProcess, custody: Custody) -> None:
        self._held = held
        self._custody = custody
        self._output = CappedOutput()
        self._exited = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._stop_watching = watch_exit(held.group.group, self._exited.set)
        self._loop.add_reader(held.output, self._take, _CHUNK_BYTES)

    async def finished(self, timeout_s: float) -> CommandResult:
        """The shell has exited, or was ended after ``timeout_s``; nothing that it started lives.

        A cancel ends everything before it is raised, as a timeout does: SIGTERM, SIGKILL after 1 s.
        NonokaError if something can't be ended, or another part of the program took the exit code.
        """
        try:
            in_time = await self._exits_within(timeout_s)
            if in_time:
                self._take_what_is_there()
            await self._end_all(0 if in_time else GRACE_S)
            if not in_time:
                self._take_what_is_there()
        except asyncio.CancelledError:
            await self._end_though_cancelled()
            raise
        finally:
            exit_code = self._close()
        return self._result(exit_code, in_time)

    async def _exits_within(self, timeout_s: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._exited.wait()
        return self._exited.is_set()

    async def _end_all(self, grace_s: float) -> None:
        group = self._held.group
        if grace_s:
            await self._custody.ask((group,), group.mark, grace_s, since=group.started)
        self._held.kill_group()
        await self._custody.end((group,), group.mark, since=group.started)

    async def _end_though_cancelled(self) -> None:
        grace_s = GRACE_S
        while True:
            try:
                return await self._end_all(grace_s)
            except asyncio.CancelledError:  # once more: then without grace, but never without an end
                grace_s = 0
            except NonokaError:  # the cancel is what has to be raised; who settles the call meets this again
                return None

    def _take(self, size: int) -> None:
        try:
            chunk = os.read(self._held.output, size)
        except BlockingIOError:
            return
        if chunk:
            self._output.add(chunk)
        else:
            self._loop.remove_reader(self._held.output)

    def _take_what_is_there(self) -> None:
        """Take what is in the pipe at this moment and no more: who holds it may write for ever."""
        self._loop.remove_reader(self._held.output)
        there = array.array("i", [0])
        fcntl.ioctl(self._held.output, termios.FIONREAD, there)
        if there[0]:
            self._take(there[0])

    def _close(self) -> int | None:
        self._stop_watching()
        self._loop.remove_reader(self._held.output)
        return self._held.reap()

    def _result(self, exit_code: int | None, in_time: bool) -> CommandResult:
        if in_time and exit_code is None:
            raise NonokaError(
                f"the exit code of command {self._held.group.group} was taken by another part of this program; "
                "don't ignore SIGCHLD and don't wait for any child in a process that runs nonoka"
            )
        output, dropped = self._output.read()
        return CommandResult(exit_code=exit_code if in_time else None, output=output, dropped_bytes=dropped)
