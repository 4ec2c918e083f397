"""What a worker asks of a Redis before it starts: is it one, does it keep what it is given, is it ours?"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import redis

from nonoka.adapters.brokers.redis.connection import connected
from nonoka.adapters.brokers.redis.keys import heartbeats_key, owner_key
from nonoka.adapters.brokers.redis.place import place_of
from nonoka.errors import UsageError
from nonoka.ports.clock import Clock

log = logging.getLogger(__name__)

#: BLMOVE came with it.
_LEAST_VERSION = (6, 2)
#: A consumer that was seen within this time lives.
_LIVES_MS = 10_000


def check(url: str, namespace: str, db: Path, clock: Clock) -> None:
    """Raise UsageError, naming the remedy, where this Redis can't be the queue of this store.

    One that doesn't answer is no reason: it may come yet, and workers feed themselves meanwhile.
    """
    place = place_of(url)
    with connected(url) as client:
        try:
            client.ping()
            _check_server(client, place)
            _check_owner(client, namespace, db, clock)
        except (redis.AuthenticationError, redis.exceptions.AuthorizationError) as error:
            raise UsageError(f"{place} refuses the user or password of NONOKA_REDIS_URL: {error}") from None
        except (redis.ConnectionError, redis.TimeoutError) as error:
            log.warning("redis_away: %s: %s; this worker takes its tasks from the store meanwhile", place, error)
        except redis.InvalidResponse as error:
            raise UsageError(f"{place} is no Redis: {error}") from None
        except redis.RedisError as error:
            raise UsageError(f"{place} can't be used: {error}") from None


def _check_server(client: redis.Redis, place: str) -> None:
    found = _info(client)
    version = str(found.get("redis_version", ""))
    numbers = tuple(int(one) for one in version.split(".")[:2] if one.isdigit())
    if numbers and numbers < _LEAST_VERSION:
        raise UsageError(f"{place} is Redis {version}; nonoka needs 6.2 or newer")
    policy = str(found.get("maxmemory_policy", ""))
    if policy.startswith("allkeys"):
        raise UsageError(
            f"{place} throws messages away when its memory is full (maxmemory-policy {policy}); "
            "set maxmemory-policy noeviction"
        )


def _info(client: redis.Redis) -> dict[str, Any]:
    try:
        return {**client.info("server"), **client.info("memory")}
    except redis.ResponseError as error:
        log.info("redis_unknown: it may not be asked what it is: %s", error)
        return {}


def _check_owner(client: redis.Redis, namespace: str, db: Path, clock: Clock) -> None:
    """A copied store has its original's id: both would take each other's messages."""
    status = os.stat(db)
    own = f"{status.st_dev}:{status.st_ino}"
    known = {_text(key): _text(value) for key, value in client.hgetall(owner_key(namespace)).items()}
    now = clock.now_ms()
    if known and known.get("file") != own and client.zcount(heartbeats_key(namespace), now - _LIVES_MS, "+inf"):
        raise UsageError(
            f"workers of {known.get('path')!r} use the messages of this store: {str(db)!r} is a copy of it, "
            "with the same id; stop those, or give one of the two another Redis database"
        )
    client.hset(owner_key(namespace), mapping={"file": own, "path": str(db)})


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")
