"""A clock that is moved by hand."""

from __future__ import annotations

import asyncio

import pytest

from nonoka.testing import ManualClock


async def test_sleepers_wake_in_the_order_of_their_times() -> None:
    clock, woken = ManualClock(), []

    async def sleep(ms: int) -> None:
        await clock.sleep_ms(ms)
        woken.append(ms)

    async with asyncio.TaskGroup() as group:
        for ms in (300, 100, 200):
            group.create_task(sleep(ms))
        await asyncio.sleep(0)
        clock.advance_ms(250)
        assert clock.sleeping == 1
        await asyncio.sleep(0)
        assert woken == [100, 200]
        clock.advance_ms(50)
    assert woken == [100, 200, 300]


async def test_it_passes_until_the_work_is_done_and_no_longer() -> None:
    clock = ManualClock()
    began = clock.monotonic_ms(), clock.now_ms()

    async def work() -> str:
        for _ in range(10):
            await clock.sleep_ms(60_000)
        return "done"

    assert await clock.passing(work()) == "done"
    assert (clock.monotonic_ms() - began[0], clock.now_ms() - began[1]) == (600_000, 600_000)


async def test_what_the_work_raises_is_raised_and_a_cancel_reaches_it() -> None:
    clock = ManualClock()

    async def fails() -> None:
        await clock.sleep_ms(1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await clock.passing(fails())
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    passing = asyncio.ensure_future(clock.passing(never))
    await asyncio.sleep(0)
    passing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await passing
    assert never.cancelled()


def test_ids_and_lots_are_the_same_in_every_run() -> None:
    drawn = [(clock.new_id(), clock.lot(), clock.new_id()) for clock in (ManualClock(), ManualClock())]
    assert drawn[0] == drawn[1]
    assert drawn[0][0] != drawn[0][2]
