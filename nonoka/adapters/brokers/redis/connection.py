"""How Redis is reached: by one URL, and with an end to all waiting, whatever the server does."""

from __future__ import annotations

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from nonoka.adapters.brokers.redis.place import place_of
from nonoka.errors import UsageError

#: How long a connection may take, and an answer beyond what the command itself waits for.
CONNECT_S = 1.0
ANSWER_S = 2.0


def connected(url: str) -> redis.Redis:
    """A client for this URL; it connects at the first command. Raises UsageError where the URL is wrong.

    A command fails after ``ANSWER_S`` at the latest and is never repeated by the client: who asked knows
    better whether to ask again. What the URL's own parameters say about that doesn't count.
    """
    place_of(url)
    try:
        pool = redis.ConnectionPool.from_url(url, protocol=2)
    except (ValueError, TypeError) as error:
        raise UsageError(f"the URL of Redis is wrong: {error}") from None
    pool.connection_kwargs.update(
        socket_connect_timeout=CONNECT_S,
        socket_timeout=ANSWER_S,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
        decode_responses=False,
    )
    return redis.Redis(connection_pool=pool)
