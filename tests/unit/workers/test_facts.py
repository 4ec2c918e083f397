"""The pipe from the worker processes to their supervisor."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from workers.facts import Fact, FactWriter, read_facts


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(read)


def test_facts_arrive_as_they_were_told(pipe: tuple[int, int]) -> None:
    """A tool's name may hold anything, and be longer than what fits into the pipe in one piece."""
    read, write = pipe
    FactWriter(write).tell([Fact("claim"), Fact("call", 'ein "Wort"\nü', 7), Fact("call", "x" * 9_999, 1)])
    os.close(write)
    found: list[Fact] = []
    read_facts(read, found.append)
    assert found == [Fact("claim"), Fact("call", 'ein "Wort"\nü', 7), Fact("call", "x" * 200, 1)]


def test_a_supervisor_that_does_not_read_stops_no_worker(pipe: tuple[int, int]) -> None:
    """What finds no room is kept, and told once there is some."""
    read, write = pipe
    writer = FactWriter(write)
    for number in range(5_000):
        writer.tell([Fact("call", "look", number)])
    found: list[Fact] = []
    reading = threading.Thread(target=read_facts, args=(read, found.append))
    reading.start()
    while len(found) < 5_000:
        writer.tell([])
    os.close(write)
    reading.join()
    assert [fact.ms for fact in found] == list(range(5_000))


def test_a_supervisor_that_is_gone_harms_no_worker() -> None:
    read, write = os.pipe()
    os.close(read)
    FactWriter(write).tell([Fact("claim")])
    os.close(write)
