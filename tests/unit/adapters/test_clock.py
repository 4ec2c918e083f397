from __future__ import annotations

import time
import uuid

from nonoka.adapters.clock import SystemClock
from nonoka.ports.clock import Clock


def test_the_time_of_day_and_the_boots_clock_are_the_kernels() -> None:
    clock: Clock = SystemClock()
    before = (int(time.time() * 1000) - 1, int(time.monotonic() * 1000) - 1)
    now = (clock.now_ms(), clock.monotonic_ms())
    after = (int(time.time() * 1000) + 1, int(time.monotonic() * 1000) + 1)
    assert before[0] <= now[0] <= after[0]
    assert before[1] <= now[1] <= after[1]


def test_ids_are_uuids_and_differ() -> None:
    clock = SystemClock()
    ids = {clock.new_id() for _ in range(100)}
    assert len({uuid.UUID(one) for one in ids}) == 100


def test_lots_are_drawn_from_zero_to_one() -> None:
    clock = SystemClock()
    lots = [clock.lot() for _ in range(1000)]
    assert all(0 <= lot < 1 for lot in lots)
    assert len(set(lots)) > 900


async def test_sleeping_waits_that_long() -> None:
    clock = SystemClock()
    before = clock.monotonic_ms()
    await clock.sleep_ms(20)
    assert clock.monotonic_ms() - before >= 19
