"""Ending what a call started: by group while the group is provably the call's, and by the call's mark."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, TypeVarTuple, Unpack

from nonoka.adapters.processes import procfs
from nonoka.adapters.processes.kill import send_signal
from nonoka.adapters.processes.procfs import Process
from nonoka.errors import NonokaError
from nonoka.records.tool import ProcessGroup

_Args = TypeVarTuple("_Args")
_Found = TypeVar("_Found")

#: SIGKILL takes effect at once, except for what hangs in the kernel or belongs to another user
BOUND_S = 5.0
#: between two looks at /proc
PAUSE_S = 0.005
#: a process in the middle of fork or exec can escape one look, so that one alone doesn't count
QUIET_LOOKS = 2


class Custody:
    """Ends process groups and all that carries a mark.

    What escapes: a process that left its group and session, and also dropped the mark from its environment
    or hides it (setuid, or it overwrote its environment to change its title); one that forks and exits
    faster than it can be looked at, unless it is still in the group of a command that ends here.
    """

    def __init__(self) -> None:
        # Threads of its own: those of the loop may all be held by tools that don't end.
        self._looks = ThreadPoolExecutor(2, thread_name_prefix="nonoka-custody")

    async def ask(self, groups: Sequence[ProcessGroup], mark: str, grace_s: float, *, since: int = 0) -> None:
        """Each of them has had SIGTERM once, and up to ``grace_s`` to end by itself."""
        asked: set[Process] = set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                while found := await self._run(living_of, groups, mark, since):
                    await self._run(_signal, found - asked, signal.SIGTERM)
                    asked |= found
                    await asyncio.sleep(PAUSE_S)

    async def end(self, groups: Sequence[ProcessGroup], mark: str, *, since: int = 0) -> int:
        """None of them lives; returns how many were ended.

        ``since``: nothing that started before, in ticks, can carry the mark; it only saves reading.
        NonokaError, naming them, if some can't be ended: another user's, or of another pid namespace.
        """
        here = _endable(groups)
        ended: set[Process] = set()
        found: set[Process] = set()
        quiet = 0
        try:
            async with asyncio.timeout(BOUND_S):
                while True:
                    found = await self._run(living_of, here, mark, since)
                    quiet = 0 if found else quiet + 1
                    if quiet == QUIET_LOOKS:
                        return len(ended)
                    await self._run(_signal, found, signal.SIGKILL)
                    ended |= found
                    await asyncio.sleep(PAUSE_S)
        except TimeoutError:
            raise NonokaError(_unendable(found, mark)) from None

    async def _run(self, look: Callable[[Unpack[_Args]], _Found], *args: *_Args) -> _Found:
        return await asyncio.get_running_loop().run_in_executor(self._looks, look, *args)


def living_of(groups: Sequence[ProcessGroup], mark: str, since: int = 0) -> set[Process]:
    """The living processes of these groups and of this mark, this process itself left out."""
    everything = {one.pid: one for one in procfs.processes()}
    living = {one for one in everything.values() if one.living and one.pid != os.getpid()}
    marked = {one for one in living if one.started >= since and procfs.carries(one.pid, mark)}
    found = set(marked)
    for group in groups:
        members = {one for one in living if group.group in (one.group, one.session)}
        if _is_still(group, everything.get(group.group), members & marked):
            found |= members
    return found


def _is_still(group: ProcessGroup, leader: Process | None, marked_members: set[Process]) -> bool:
    """Whether the group of this number is the call's.

    The kernel gives a number out again only when no process, group or session has it: a leader with
    another start time means that the call's group was empty before, and a member that carries the mark
    that it never was.
    """
    return leader.started == group.started if leader else bool(marked_members)


def _endable(groups: Sequence[ProcessGroup]) -> list[ProcessGroup]:
    boot, namespace = procfs.boot_id(), procfs.pid_namespace()
    of_this_boot = [group for group in groups if group.boot_id == boot]
    for group in of_this_boot:
        if group.pid_namespace != namespace:
            raise NonokaError(
                f"process group {group.group} of call {group.mark!r} is in another container "
                f"({group.pid_namespace}, this is {namespace}); run `nonoka sweep` there, or end it"
            )
    return of_this_boot


def _signal(found: set[Process], number: signal.Signals) -> None:
    for one in found:
        with contextlib.suppress(PermissionError):  # it goes on living, and is named in the end
            send_signal(one.pid, one.started, number)


def _unendable(found: set[Process], mark: str) -> str:
    pids = ", ".join(str(one.pid) for one in sorted(found, key=lambda one: one.pid))
    return (
        f"processes {pids} of call {mark!r} still live {BOUND_S:.0f} s after SIGKILL; end them as their user "
        "(root, say), or wait for the device that they hang on"
    )
