"""The two ends of the queue on Redis, without a worker around them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import dramatiq
import pytest
from dramatiq.broker import MessageProxy

from nonoka.adapters.brokers.queue_names import QUEUE, TURN_ACTOR
from nonoka.adapters.brokers.redis.broker import RedisBroker
from nonoka.adapters.brokers.redis.consumer import RedisConsumer
from nonoka.adapters.brokers.redis.hints import MOST_WAITING, RedisHints
from nonoka.adapters.clock import SystemClock
from tests.support.project import PLAIN, Project
from tests.support.redis_server import RedisServer

NAMESPACE = "nonoka:test"
_WATCHED = """
import sys, threading
import workers.middleware
from nonoka.adapters.brokers.redis.consumer import RedisConsumer
workers.middleware.STUCK_S = 2.0
def fetch(self): {body}
RedisConsumer._fetch = fetch
from workers.process import main
sys.exit(main(["--threads", "2"]))
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path / "redis") as started:
        yield started


@pytest.fixture
def broker(server: RedisServer) -> Iterator[RedisBroker]:
    made = RedisBroker(server.url, [])
    made.bind(NAMESPACE, dramatiq.Worker(made, worker_threads=2))
    dramatiq.actor(broker=made, queue_name=QUEUE, actor_name=TURN_ACTOR)(lambda task_id: None)
    yield made
    made.close()
    made.client.close()


def send(server: RedisServer, *task_ids: str) -> None:
    """These are sent, and pushed as far as they can be."""

    async def all_of_them() -> None:
        hints = RedisHints(server.url, SystemClock())
        hints.bind(NAMESPACE)
        for task_id in task_ids:
            await hints.send(task_id)
        await asyncio.to_thread(hints.close)

    asyncio.run(all_of_them())


def taken(consumer: RedisConsumer, count: int) -> list[MessageProxy]:
    """So many messages, in their order."""
    found: list[MessageProxy] = []
    while len(found) < count:
        message = next(consumer)
        if message is not None:
            found.append(message)
    return found


def test_what_is_sent_arrives_in_its_order_and_is_gone_once_it_is_acknowledged(
    server: RedisServer, broker: RedisBroker
) -> None:
    send(server, "a", "b")
    consumer = broker.consume(QUEUE, 4)
    messages = taken(consumer, 2)
    assert [list(message.args) for message in messages] == [["a"], ["b"]]
    for message in messages:
        consumer.ack(message)
    next(consumer)
    consumer.close()
    assert server.client.keys() == []


def test_a_consumer_never_holds_more_than_its_worker_has_threads(server: RedisServer, broker: RedisBroker) -> None:
    """What Dramatiq would prefetch is left to others."""
    send(server, *"abcde")
    consumer = broker.consume(QUEUE, prefetch=64)
    first, _ = taken(consumer, 2)
    assert next(consumer) is None
    assert server.client.llen(f"{NAMESPACE}:{QUEUE}") == 3
    consumer.ack(first)
    taken(consumer, 1)
    assert server.client.llen(f"{NAMESPACE}:{QUEUE}") == 2


def test_what_was_not_begun_goes_back_when_a_consumer_is_closed(server: RedisServer, broker: RedisBroker) -> None:
    send(server, "a", "b")
    consumer = broker.consume(QUEUE, 2)
    taken(consumer, 1)
    consumer.close()
    assert server.client.llen(f"{NAMESPACE}:{QUEUE}") == 2
    assert server.client.keys("*__acks__*") == []


def test_what_a_dead_consumer_left_behind_is_cleared_away(server: RedisServer, broker: RedisBroker) -> None:
    """Not delivered once more: the store has sent those tasks again within a second."""
    send(server, "a", "b")
    dead = broker.consume(QUEUE, 2)
    taken(dead, 2)
    server.client.zadd(f"{NAMESPACE}:__heartbeats__", {broker.broker_id: 1})
    another = RedisBroker(server.url, [])
    another.bind(NAMESPACE, dramatiq.Worker(another, worker_threads=2))
    consumer = another.consume(QUEUE, 2)
    assert next(consumer) is None
    consumer.close()
    another.client.close()
    assert server.client.keys() == []


def test_the_queue_does_not_grow_beyond_what_wakes_all_workers(server: RedisServer) -> None:
    """A message makes a worker claim whatever is due, so more of them would only take memory."""
    server.client.rpush(f"{NAMESPACE}:{QUEUE}", *range(MOST_WAITING))
    send(server, "one more")
    assert server.client.llen(f"{NAMESPACE}:{QUEUE}") == MOST_WAITING


def test_what_is_no_message_is_dropped_and_the_next_one_arrives(server: RedisServer, broker: RedisBroker) -> None:
    junk: dict[str, str | bytes] = {"bytes": b"\x80pickle", "list": "[1]", "object": "{}"}
    for name, data in junk.items():
        server.client.hset(f"{NAMESPACE}:{QUEUE}.msgs", name, data)
    server.client.rpush(f"{NAMESPACE}:{QUEUE}", *junk, "no message")
    send(server, "a")
    assert [list(message.args) for message in taken(broker.consume(QUEUE, 8), 1)] == [["a"]]


def test_a_consumer_moves_on_whatever_redis_does(server: RedisServer, broker: RedisBroker) -> None:
    """Frozen, gone, back and without room: it never raises, and says that it gets no answer."""
    consumer = broker.consume(QUEUE, 2)
    assert next(consumer) is None
    assert not broker.away
    server.freeze()
    assert next(consumer) is None
    assert broker.away
    server.kill()
    assert next(consumer) is None
    assert broker.away
    server.start()
    assert next(consumer) is None
    assert not broker.away
    server.client.config_set("maxmemory", 1)
    assert next(consumer) is None
    assert broker.pulse() == 5


@pytest.mark.parametrize(
    ("body", "told"),
    [("threading.Event().wait()", "its consumer has not moved"), ("sys.exit()", "its threads have died")],
)
async def test_a_worker_whose_consumer_is_stuck_or_dead_ends(
    server: RedisServer, tmp_path: Path, body: str, told: str
) -> None:
    """It could go on heartbeating for ever, and hold what it holds."""
    project = Project(tmp_path / "project", environ={"NONOKA_REDIS_URL": server.url})
    async with project.store():
        pass
    program = _WATCHED.format(body=body)
    with project.worker(["-c", program]) as worker:
        assert await asyncio.to_thread(worker.wait, 30) == 70
    assert told in project.log.read_text()
    with project.worker(PLAIN):
        await project.until(lambda: bool(server.client.keys("*__heartbeats__*")), "another one works")
