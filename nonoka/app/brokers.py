"""What carries the hints between the processes of a store, by the settings."""

from __future__ import annotations

from nonoka.adapters.brokers.redis.hints import RedisHints
from nonoka.adapters.brokers.redis.place import place_of
from nonoka.ports.clock import Clock
from nonoka.settings import Settings


def broker_name(settings: Settings) -> str:
    """The name by which a store knows its workers' broker; no secret is in it. Raises UsageError."""
    return "in-process" if settings.redis_url is None else place_of(settings.redis_url)


def redis_hints(settings: Settings, clock: Clock) -> RedisHints | None:
    """What sends through Redis, where that is set."""
    return None if settings.redis_url is None else RedisHints(settings.redis_url, clock)
