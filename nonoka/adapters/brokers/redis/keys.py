"""The keys of one store's queue: all of them begin with its namespace."""

from __future__ import annotations

from nonoka.adapters.brokers.queue_names import QUEUE


def namespace_of(store_id: str) -> str:
    """What all keys of this store begin with: two stores never meet on one server."""
    return f"nonoka:{store_id}"


def queue_key(namespace: str) -> str:
    """The list of waiting messages' ids, as Dramatiq names it."""
    return f"{namespace}:{QUEUE}"


def messages_key(namespace: str) -> str:
    """The hash of ids and messages, as Dramatiq names it."""
    return f"{namespace}:{QUEUE}.msgs"


def heartbeats_key(namespace: str) -> str:
    """Who consumes, and when last seen (ms UTC), as Dramatiq names it."""
    return f"{namespace}:__heartbeats__"


def unacknowledged_key(namespace: str, consumer_id: str) -> str:
    """The ids that a consumer has and has not acknowledged, as Dramatiq names it."""
    return f"{namespace}:__acks__.{consumer_id}.{QUEUE}"


def owner_key(namespace: str) -> str:
    """The store file whose workers consume here (ours, not Dramatiq's)."""
    return f"{namespace}:store"
