"""Dramatiq's RedisBroker as a worker of nonoka uses it: one queue, no delays, a consumer of our own."""

from __future__ import annotations

from typing import Any

import dramatiq
from dramatiq.broker import MessageProxy
from dramatiq.brokers import redis as dramatiq_redis
from dramatiq.middleware import Middleware

from nonoka.adapters.brokers.queue_names import QUEUE, actor_of
from nonoka.adapters.brokers.redis.connection import connected
from nonoka.adapters.brokers.redis.consumer import RedisConsumer


class RedisBroker(dramatiq_redis.RedisBroker):
    """Messages go between processes; JSON, as Dramatiq writes it by default.

    A message of a dead worker is never delivered again: its task is sent again by the store, long before.
    ``bind`` it to a store before a worker starts. Built with an explicit middleware list: Dramatiq's
    defaults would retry, limit and store results of their own accord.
    """

    def __init__(self, url: str, middleware: list[Middleware]) -> None:
        super().__init__(  # type: ignore[no-untyped-call]
            client=connected(url), middleware=middleware, namespace="", maintenance_chance=0
        )
        self._consumer: RedisConsumer | None = None
        self._worker: dramatiq.Worker | None = None
        #: nothing more is fetched: the worker ends
        self.draining = False

    def bind(self, namespace: str, worker: dramatiq.Worker) -> None:
        """The worker that is about to start consumes what is sent for the store of this namespace."""
        self.namespace = namespace
        self._worker = worker

    def declare_queue(self, queue_name: str) -> None:
        """Declare it without the queue of delayed messages: a delay is a row in the store."""
        if queue_name not in self.queues:
            self.emit_before("declare_queue", queue_name)
            self.queues.add(queue_name)
            self.emit_after("declare_queue", queue_name)

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> RedisConsumer:
        """The consumer for the worker's thread; it holds no more than the worker has threads."""
        threads = self._worker.worker_threads if self._worker is not None else prefetch
        self._consumer = RedisConsumer(self, queue_name, min(prefetch, threads))
        return self._consumer

    @property
    def away(self) -> bool:
        """The consumer gets no answer."""
        return self._consumer is not None and self._consumer.away

    @property
    def room(self) -> int:
        """How many more tasks this worker's threads could begin with."""
        return 0 if self._consumer is None or self.draining else self._consumer.room

    def pulse(self) -> int:
        """A number that changes as long as the consumer moves."""
        return 0 if self._consumer is None else self._consumer.pulse

    def take_here(self, task_id: str) -> None:
        """This worker runs the task, without a message through Redis."""
        if self._consumer is None or self._worker is None:
            return
        message: dramatiq.Message[Any] = self.get_actor(actor_of(task_id)).message(task_id)
        self._consumer.give(message)
        self._worker.consumers[QUEUE].handle_message(MessageProxy(message))
