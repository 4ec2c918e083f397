"""Takes messages off the queue for one worker: woken at once, never dead, never holding more than it can run.

Dramatiq's own consumer polls, dies of a timeout and has each worker thread talk to Redis; this one waits inside
Redis, and all that it asks is asked by its one thread.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import redis
from dramatiq.broker import Consumer, MessageProxy
from dramatiq.common import current_millis
from dramatiq.errors import DecodeError
from dramatiq.message import Message

from nonoka.adapters.brokers.redis.keys import heartbeats_key, messages_key, queue_key, unacknowledged_key

if TYPE_CHECKING:
    from nonoka.adapters.brokers.redis.broker import RedisBroker

log = logging.getLogger(__name__)

#: How long one wait for a message lasts; the end of a worker may wait for it.
_WAIT_S = 0.5
#: So many waits between two signs of life to the other consumers, which count so long.
_WAITS_A_BEAT = 20
_DEAD_MS = 60_000
#: So many rounds between two looks for what the dead have left behind.
_ROUNDS_A_BURIAL = 100
#: Between two tries while Redis is away.
_LEAST_REST_S, _MOST_REST_S = 0.05, 1.0
_ID = "redis_message_id"


class RedisConsumer(Consumer):
    """The consumer of the one queue. ``ack`` is called by any thread, all else by the consumer's own."""

    def __init__(self, broker: RedisBroker, queue_name: str, prefetch: int) -> None:
        self._broker = broker
        self._queue_name = queue_name
        self._prefetch = prefetch
        self._ready: deque[Message[Any]] = deque()
        self._given: set[str] = set()
        self._done: deque[str] = deque()
        self._freed = threading.Event()
        self._failures = 0
        self._waits = 0
        #: raised each time round: a thread that stands still is seen by it
        self.pulse = 0

    @property
    def away(self) -> bool:
        """What was asked last got no answer."""
        return self._failures > 0

    @property
    def room(self) -> int:
        """How many more messages this worker's threads could begin with."""
        return self._prefetch - len(self._given) - len(self._ready)

    def __next__(self) -> MessageProxy | None:
        self.pulse += 1
        try:
            self._acknowledge()
            if self.pulse % _ROUNDS_A_BURIAL == 1:
                self._bury_the_dead()
            if not self._ready:
                self._fetch()
            if self._failures:
                log.warning("redis_back after %s failures", self._failures)
            self._failures = 0
        except redis.RedisError as error:
            self._rest(error)
        if not self._ready:
            return None
        message = self._ready.popleft()
        self.give(message)
        return MessageProxy(message)

    def give(self, message: Message[Any]) -> None:
        """The message counts as being worked on until it is acknowledged."""
        self._given.add(message.message_id)

    def ack(self, message: MessageProxy) -> None:
        """The message is done with; Redis is told by the consumer's own thread, now or when it is back."""
        self._given.discard(message.message_id)
        if _ID in message.options:
            self._done.append(message.options[_ID])
        self._freed.set()

    def nack(self, message: MessageProxy) -> None:
        """The same: of a hint that failed nothing is worth keeping, the task is in the store."""
        self.ack(message)

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Messages that nobody began with are another worker's, as far as Redis can be told."""
        self._give_back([message.options[_ID] for message in messages if _ID in message.options])

    def close(self) -> None:
        """Nothing is held any more, and this consumer is forgotten."""
        if self.away:
            return  # as after a death: what it holds goes back after a minute, and is found in the store before
        try:
            self._acknowledge()
            held = self._broker.client.smembers(self._key(unacknowledged_key))
            self._give_back(list(held))
            self._broker.client.zrem(heartbeats_key(self._broker.namespace), self._broker.broker_id)
        except redis.RedisError as error:
            log.warning("redis_away: %s", error)

    def _fetch(self) -> None:
        room = 0 if self._broker.draining else self.room
        if room <= 0:
            self._wait_for_room()
            return
        found = self._broker.do_fetch(self._queue_name, room)
        if not found:
            # To its own head: nothing moves, and it returns as soon as there is something.
            key = queue_key(self._broker.namespace)
            self._broker.client.execute_command("BLMOVE", key, key, "LEFT", "LEFT", _WAIT_S)
            return
        self._ready.extend(message for data in found if (message := _decoded(data, self._queue_name)) is not None)

    def _wait_for_room(self) -> None:
        self._freed.wait(_WAIT_S)
        self._freed.clear()
        self._waits += 1
        if self._waits % _WAITS_A_BEAT == 0:
            self._broker.do_ack(self._queue_name, "")  # any command is a sign of life; this one does nothing else

    def _acknowledge(self) -> None:
        done = [self._done.popleft() for _ in range(len(self._done))]
        if not done:
            return
        try:
            with self._broker.client.pipeline(transaction=True) as pipeline:
                pipeline.srem(self._key(unacknowledged_key), *done)
                pipeline.hdel(messages_key(self._broker.namespace), *done)
                pipeline.execute()
        except redis.RedisError:
            self._done.extend(done)
            raise

    def _bury_the_dead(self) -> None:
        """What consumers held that show no sign of life is gone; the store has sent those tasks again by now."""
        client, namespace = self._broker.client, self._broker.namespace
        for name in client.zrangebyscore(heartbeats_key(namespace), 0, current_millis() - _DEAD_MS):
            consumer_id = name.decode() if isinstance(name, bytes) else str(name)
            acks = unacknowledged_key(namespace, consumer_id)
            if held := client.smembers(acks):
                client.hdel(messages_key(namespace), *held)
            client.delete(acks)
            client.zrem(heartbeats_key(namespace), consumer_id)

    def _give_back(self, ids: Sequence[str | bytes]) -> None:
        if not ids or self.away:
            return
        try:
            self._broker.do_requeue(self._queue_name, *ids)
        except redis.RedisError as error:
            log.warning("redis_away: %s", error)

    def _rest(self, error: redis.RedisError) -> None:
        if self._failures == 0:
            log.warning("redis_away: %s; this worker takes its tasks from the store meanwhile", error)
        self._failures += 1
        time.sleep(min(_MOST_REST_S, _LEAST_REST_S * 2 ** min(self._failures, 10)))

    def _key(self, name: Any) -> str:
        return str(name(self._broker.namespace, self._broker.broker_id))


def _decoded(data: bytes | None, queue_name: str) -> Message[Any] | None:
    if data is None:
        return None  # its id was left behind when the messages were deleted
    try:
        message: Message[Any] = Message.decode(data)
    except (DecodeError, TypeError) as error:
        log.warning("message_dropped: it is no message of nonoka's: %s", error)
        return None
    if message.queue_name != queue_name:
        log.warning("message_dropped: it is for queue %r", message.queue_name)
        return None
    return message
