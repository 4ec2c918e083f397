"""The recovery pass: finds what was lost and sends it on its way again. Safe anywhere, any number at a time."""

from __future__ import annotations

import asyncio
import logging

from nonoka.decisions import task_kinds
from nonoka.engine.deciding import deciding
from nonoka.engine.ports import Ports
from nonoka.engine.rollback import complete_begun
from nonoka.engine.running import Running
from nonoka.engine.settle import settle
from nonoka.engine.workspace import after_commit
from nonoka.errors import ClaimLost, NonokaError, StoreError
from nonoka.records.commit import LostClaim
from nonoka.records.session import SessionStatus
from nonoka.records.sweep import SweepReport, Waiting
from nonoka.records.task import Liveness, Worker, task_id_of

log = logging.getLogger(__name__)

#: Between two passes of a worker: what a killed worker held is another's after this and a little more.
SWEEP_MS = 1_000


class Sweeper:
    """One worker's recovery passes."""

    def __init__(self, ports: Ports, worker_id: str, running: Running) -> None:
        self._ports = ports
        self._worker_id = worker_id
        self._running = running
        #: One pass at a time in a process: who asks for one is sure of all that the one before it settles.
        self._one_pass = asyncio.Lock()

    async def sweep(self) -> SweepReport:
        """One pass: lost claims are settled and released, sessions without a task have one again.

        One bad row doesn't stop it: what could not be done is in the report's ``errors``. A pass of this
        process that is under way ends first.
        """
        async with self._one_pass:
            return await self._pass()

    async def _pass(self) -> SweepReport:
        found = _Findings()
        liveness: dict[str, Liveness] = {}
        for claim in await self._ports.store.running_claims():
            try:
                if self._is_lost(claim, liveness):
                    await self._release(claim, liveness, found)
            except ClaimLost:
                continue  # somebody else was first, which is as good
            except NonokaError as error:
                log.warning("release_failed task=%s: %s", claim.task.task_id, error)
                found.errors.append(f"{claim.task.task_id}: {error}")
        found.repaired += await self._ports.store.repair_taskless()
        for task_id in await self._ports.store.free_workspaces():
            await self._ports.broker.send(task_id)
        await self._remove_dead_workers(found)
        return found.report()

    async def sweep_forever(self) -> None:
        """A pass every second until cancelled; a pass that fails is logged, and the next one tries again."""
        while True:
            try:
                await self.sweep()
            except StoreError as error:
                log.warning("sweep_failed: %s", error)
            await self._ports.clock.sleep_ms(SWEEP_MS)

    def _is_lost(self, claim: LostClaim, known: dict[str, Liveness]) -> bool:
        if claim.task.lease_owner == self._worker_id:
            return False
        if claim.owner is None:
            return claim.owner_leases_run_out
        if claim.owner.worker_id not in known:
            known[claim.owner.worker_id] = self._ports.processes.liveness(claim.owner)
        return known[claim.owner.worker_id] is Liveness.DEAD or claim.owner_leases_run_out

    async def _release(self, lost: LostClaim, known: dict[str, Liveness], found: _Findings) -> None:
        owner = lost.owner
        if owner is not None and known[owner.worker_id] is not Liveness.DEAD:
            if owner.kind == "embedded" or not await self._ports.processes.end_owner(owner):
                why = f"process {owner.pid} holds it, does nothing, and can't be ended from here: end it"
                found.waiting.append(Waiting(task_id=lost.task.task_id, worker_id=owner.worker_id, why=why))
                return
            known[owner.worker_id] = Liveness.DEAD
            found.ended_workers.add(owner.worker_id)
        taken = await self._ports.store.take_over(lost, self._worker_id)
        if taken is None:
            return
        claim, view = taken
        unseen = owner is not None and owner.worker_id not in found.ended_workers
        held = (claim.task_id, claim.fence)
        self._running.withheld.add(held)
        try:
            decide = await complete_begun(self._ports, claim, view)
            if decide is None:
                seen_at = owner.seen_at if owner and unseen else None
                settled = await settle(self._ports, claim, view, owner_seen_at=seen_at)
                decide = deciding(task_kinds.release_lost, settled)
            committed = await self._ports.store.commit(claim, decide)
        finally:
            self._running.withheld.discard(held)
        await after_commit(self._ports, committed)
        log.info("claim_released task=%s owner=%s", claim.task_id, lost.task.lease_owner)
        if committed.view.state.status is SessionStatus.FAILED:
            found.failed.append(claim.session_id)
        found.released.append(claim.task_id)
        await self._ports.broker.send(claim.task_id)
        if committed.changes.next_key is not None:
            await self._ports.broker.send(task_id_of(claim.session_id, committed.changes.next_key))

    async def _remove_dead_workers(self, found: _Findings) -> None:
        others = [w for w in await self._ports.store.workers() if w.worker_id != self._worker_id]
        dead = [worker for worker in others if self._ports.processes.liveness(worker) is Liveness.DEAD]
        if not dead:
            return  # what all of them run, a thousand rows perhaps, is read only for those that can be removed
        running = {claim.task.lease_owner for claim in await self._ports.store.running_claims()}
        for worker in dead:
            if worker.worker_id not in running:
                await self._remove(worker, found)

    async def _remove(self, worker: Worker, found: _Findings) -> None:
        try:
            await self._ports.store.remove_worker(worker.worker_id)
            self._ports.processes.forget(worker)
        except NonokaError as error:
            found.errors.append(f"worker {worker.worker_id}: {error}")
        else:
            found.removed_workers.append(worker.worker_id)


class _Findings:
    def __init__(self) -> None:
        self.released: list[str] = []
        self.failed: list[str] = []
        self.repaired: list[str] = []
        self.removed_workers: list[str] = []
        self.waiting: list[Waiting] = []
        self.errors: list[str] = []
        #: those that this pass itself has ended: they may have worked until that moment
        self.ended_workers: set[str] = set()

    def report(self) -> SweepReport:
        return SweepReport(
            released=tuple(self.released),
            failed=tuple(self.failed),
            repaired=tuple(self.repaired),
            removed_workers=tuple(self.removed_workers),
            waiting=tuple(self.waiting),
            errors=tuple(self.errors),
        )
