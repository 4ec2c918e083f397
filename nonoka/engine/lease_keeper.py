"""The heartbeat: renews the leases of a worker and learns of what was lost meanwhile and of who is to stop."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from nonoka.engine.ports import Ports
from nonoka.engine.running import Running
from nonoka.errors import NonokaError, StoreFull
from nonoka.records.commit import Claim
from nonoka.records.task import session_of

log = logging.getLogger(__name__)

#: Between two heartbeats: a cancel is heard within this time, and a lease (30 s) survives many lost ones.
HEARTBEAT_MS = 1_000

_Held = tuple[str, int]


class LeaseKeeper:
    """One worker's heartbeat.

    What the store and this process disagree on is acted upon at the second beat that finds it so: between
    a commit and the moment that the one who made it hears of it, they may differ.
    """

    def __init__(
        self, ports: Ports, worker_id: str, running: Running, hand_back: Callable[[Claim], Awaitable[None]]
    ) -> None:
        self._ports = ports
        self._worker_id = worker_id
        self._running = running
        self._hand_back = hand_back
        self._missing: set[_Held] = set()
        self._orphans: set[_Held] = set()

    async def beat(self) -> None:
        """All leases run anew; what runs without its claim, or is to stop for a signal, is interrupted."""
        held = set((await self._ports.store.renew(self._worker_id)).items())
        mine = {(running.claim.task_id, running.claim.fence): running for running in self._running}
        missing, orphans = mine.keys() - held, held - mine.keys() - self._running.withheld
        for key in missing & self._missing:
            mine[key].interrupt("lost")
        for task_id, fence in orphans & self._orphans:
            await self._give_up(self._claim(task_id, fence))
        self._missing, self._orphans = missing, orphans
        if mine:
            await self._heed_signals()

    async def keep(self) -> None:
        """Beat until cancelled. Raises what a beat raises: a worker that can't beat must not go on.

        But for a full disk: what can't be renewed there can't be taken over by others either.
        """
        while True:
            try:
                await self.beat()
            except StoreFull as error:
                log.warning("heartbeat_failed: %s", error)
            await self._ports.clock.sleep_ms(HEARTBEAT_MS)

    async def _give_up(self, claim: Claim) -> None:
        try:
            await self._hand_back(claim)
        except NonokaError as error:
            # What can't be settled now is tried again at the next beat; the heartbeat goes on for the others.
            log.warning("hand_back_failed task=%s: %s", claim.task_id, error)

    async def _heed_signals(self) -> None:
        wanted = await self._ports.store.sessions_to_interrupt(self._worker_id)
        for running in self._running:
            if running.claim.session_id in wanted:
                running.interrupt("signal")

    def _claim(self, task_id: str, fence: int) -> Claim:
        return Claim(task_id=task_id, session_id=session_of(task_id), worker_id=self._worker_id, fence=fence)
