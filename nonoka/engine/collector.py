"""The collections that a worker makes beside its work: one an hour among all workers of a store."""

from __future__ import annotations

import logging

from nonoka.engine.gc import collect
from nonoka.engine.ports import Ports
from nonoka.errors import NonokaError
from nonoka.records.retention import CollectionReport

log = logging.getLogger(__name__)

#: Between two looks whether a collection is due, and before the first: a process that is soon over makes none.
LOOK_MS = 60_000
#: From the end of one to the next.
EVERY_MS = 3_600_000
#: After one that was begun and not ended: its process was killed, or takes long.
AGAIN_MS = 600_000


async def collect_forever(ports: Ports) -> None:
    """A collection whenever one is due, until cancelled; one that fails is logged, and tried again later."""
    while True:
        await ports.clock.sleep_ms(LOOK_MS)
        try:
            if await ports.store.begin_collection(again_in_ms=AGAIN_MS):
                _tell(await collect(ports, ports.retention))
                await ports.store.end_collection(next_in_ms=EVERY_MS)
        except (NonokaError, OSError) as error:
            log.warning("collection_failed: %s", error)


def _tell(report: CollectionReport) -> None:
    log.info("collection_done %s", report.model_dump_json(exclude_defaults=True))
    for error in report.errors:
        log.warning("collection_failed: %s", error)
    if report.over_bytes:
        log.warning("snapshots_over_bound by=%s bytes: those of unended sessions are kept", report.over_bytes)
