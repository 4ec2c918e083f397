"""Builds a worker process's broker. The only place that makes one the global broker is main.py."""

from __future__ import annotations

import dramatiq
from dramatiq.middleware import AsyncIO

from nonoka.adapters.brokers.redis.place import place_of
from nonoka.app import Wrap
from nonoka.errors import UsageError
from nonoka.settings import Settings
from workers.actors import declare_actors
from workers.feeder import InProcessQueue
from workers.middleware import WorkerLife
from workers.queues import Queue


def worker_broker(settings: Settings, *, wrap: Wrap | None = None) -> tuple[dramatiq.Broker, WorkerLife]:
    """A broker with the actors on it, and the life that begins with the Dramatiq worker over it.

    Raises UsageError where the settings name a queue that can't be used.
    """
    queue = _queue(settings)
    life = WorkerLife(settings, queue, wrap=wrap)
    # The order matters: before_* run in it, after_* in reverse, and WorkerLife needs AsyncIO's loop in both.
    broker = queue.make_broker([AsyncIO(), life])
    declare_actors(broker, life)
    return broker, life


def _queue(settings: Settings) -> Queue:
    if settings.redis_url is None:
        return InProcessQueue()
    place_of(settings.redis_url)
    try:
        # Only here: without Redis its client need not be installed.
        from workers.sender import RedisQueue  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            f"NONOKA_REDIS_URL is set, and the client of Redis isn't installed ({error}): install nonoka with its "
            "extra 'redis'"
        ) from None
    return RedisQueue(settings.redis_url, settings.db)
