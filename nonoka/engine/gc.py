"""A collection: old sessions go, and what is left of sessions that are gone. ``nonoka gc`` and workers call it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from nonoka.decisions import retention
from nonoka.engine.ports import Ports
from nonoka.errors import NonokaError, StoreError
from nonoka.records.retention import CollectionReport, LeftDirectory, Leftover, OldSession, Retention
from nonoka.records.workspace import Collected

#: What one transaction deletes, lets go of or gives back at most: others must not wait long for theirs.
SESSIONS_AT_A_TIME = 20
SNAPSHOTS_AT_A_TIME = 1_000
BYTES_AT_A_TIME = 4_000_000
LOOKED_AT = 500


async def collect(ports: Ports, wanted: Retention, *, dry_run: bool = False) -> CollectionReport:
    """What may go is gone, or with ``dry_run`` only counted.

    Any number may run at a time; killed anywhere, the next one goes on. What can't be done in one place is in the
    report's ``errors`` and ``left``. Raises StoreError.
    """
    return await _Collection(ports, wanted, dry_run=dry_run).run()


class _Collection:
    def __init__(self, ports: Ports, wanted: Retention, *, dry_run: bool) -> None:
        self._ports = ports
        self._wanted = wanted
        self._dry_run = dry_run
        self._now = ports.clock.now_ms()
        #: the sessions that are deleted, or would be
        self._going: dict[str, OldSession] = {}
        self._found = CollectionReport()

    async def run(self) -> CollectionReport:
        if self._wanted.keep_days is not None:
            await self._delete_old(retention.old_before(self._now, self._wanted.keep_days))
            self._note(sessions=tuple(self._going))
        # Before the snapshots: those of a directory that goes are then nobody's.
        await self._remove_directories()
        await self._remove_artifacts()
        try:
            await self._free_snapshots()
        except NonokaError as error:
            self._failed(error)
        self._note(store_bytes=await self._give_back())
        return self._found

    async def _delete_old(self, before: int) -> None:
        last = None
        while page := await self._ports.store.old_sessions(before, limit=LOOKED_AT, after=last):
            last = page[-1].index
            going = {one.index.session_id: one for one in page if retention.may_go(one, before)}
            for part in _parts(list(going), SESSIONS_AT_A_TIME):
                gone = part if self._dry_run else await self._ports.store.delete_old_sessions(part, before)
                self._going.update({session_id: going[session_id] for session_id in gone})

    async def _remove_directories(self) -> None:
        would_be = [own for one in self._going.values() if (own := retention.own_directory(one.index))]
        gone: list[str] = []
        left: list[LeftDirectory] = []
        for leftover in [*await self._ports.store.leftovers(), *(would_be if self._dry_run else ())]:
            why = await self._let_go(leftover)
            if why is not None:
                left.append(LeftDirectory(directory=leftover.directory, why=why))
                continue
            gone.append(leftover.directory)
            if not self._dry_run:
                await self._ports.store.forget_leftover(leftover.directory)
        self._note(directories=tuple(gone), left=tuple(left))

    async def _let_go(self, leftover: Leftover) -> str | None:
        repository = None if leftover.repository is None else Path(leftover.repository)
        try:
            return await self._ports.worktrees.let_go(Path(leftover.directory), repository, dry_run=self._dry_run)
        except (NonokaError, OSError) as error:
            return str(error)

    async def _remove_artifacts(self) -> None:
        kept = await asyncio.to_thread(self._ports.artifacts.kept)
        try:
            # Asked for after the artifacts: a session is there before anything is kept of it.
            known = await self._beside() | await self._ports.store.known_sessions(list(kept))
        except StoreError as error:
            self._failed(error)
            return
        gone = sorted(kept.keys() - (known - self._going.keys()))
        for session_id in () if self._dry_run else gone:
            await asyncio.to_thread(self._ports.artifacts.remove, session_id)
        self._note(artifacts=tuple(gone), artifact_bytes=sum(kept[session_id] for session_id in gone))

    async def _free_snapshots(self) -> None:
        # What is taken from here on is younger, whatever becomes of the time meanwhile; what was taken before by a
        # task that is still about to record it is spared with its session.
        until = retention.recorded_by(self._now)
        running = {claim.task.session_id for claim in await self._ports.store.running_claims()}
        sparing = running | await self._beside()
        first = await self._collected(until, sparing)
        last = await self._within_bounds(first, until, sparing)
        freed = first.bytes_before - last.bytes_after
        self._note(snapshot_bytes=freed, snapshots_size=last.bytes_after)
        for error in last.errors:
            self._failed(error)

    async def _collected(self, until: int, sparing: set[str] | frozenset[str]) -> Collected:
        keep = await self._ports.store.snapshots_in_use()
        if self._dry_run:
            for session_id in self._going:
                keep -= {taken.snapshot_id for taken in await self._ports.store.snapshots_of(session_id)}
        collected = await self._ports.snapshots.collect(
            keep, taken_until=until, sparing=sparing, dry_run=self._dry_run
        )
        self._note(snapshots=self._found.snapshots + len(collected.removed))
        return collected

    async def _within_bounds(
        self, collected: Collected, until: int, sparing: set[str] | frozenset[str]
    ) -> Collected:
        """The oldest snapshots of ended sessions are let go until all take no more than they may."""
        if self._wanted.snapshots_mb is None:
            return collected
        most, done = round(self._wanted.snapshots_mb * 1_000_000), 0
        while number := retention.to_let_go(
            size=collected.bytes_after,
            most=most,
            kept=len(await self._ports.store.snapshots_in_use()),
            spare=await self._ports.store.spare_snapshots(taken_until=until),
            done_before=done,
        ):
            done += number
            self._note(let_go=done)
            if self._dry_run:
                break
            for part in range(0, number, SNAPSHOTS_AT_A_TIME):
                await self._ports.store.let_go_of_snapshots(
                    min(SNAPSHOTS_AT_A_TIME, number - part), taken_until=until
                )
            collected = await self._collected(until, sparing)
        self._note(over_bytes=0 if self._dry_run else max(0, collected.bytes_after - most))
        return collected

    async def _give_back(self) -> int:
        if self._dry_run:
            return await self._ports.store.free_bytes()
        total = 0
        while freed := await self._ports.store.give_back(most_bytes=BYTES_AT_A_TIME):
            total += freed
        return total

    async def _beside(self) -> frozenset[str]:
        return await asyncio.to_thread(self._ports.sessions_beside)

    def _note(self, **found: object) -> None:
        self._found = self._found.model_copy(update=found)

    def _failed(self, error: object) -> None:
        told = (*self._found.errors, str(error))
        self._note(errors=tuple(dict.fromkeys(told)))


def _parts(all_of_it: list[str], size: int) -> Iterable[list[str]]:
    return (all_of_it[at : at + size] for at in range(0, len(all_of_it), size))
