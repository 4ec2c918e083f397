"""Which Redis a URL names, for messages and for the store."""

from __future__ import annotations

import pytest

from nonoka.adapters.brokers.redis.place import place_of
from nonoka.errors import UsageError


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("redis://localhost", "redis://127.0.0.1:6379/0"),
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
        ("redis://user:secret@queue:7000/3", "redis://queue:7000/3"),
        ("rediss://:secret@queue/2?ssl_cert_reqs=none", "redis://queue:6379/2"),
        ("redis://queue?db=4", "redis://queue:6379/4"),
        ("unix:///run/redis.sock?db=1", "unix:///run/redis.sock?db=1"),
        ("unix://user:secret@/run/redis.sock", "unix:///run/redis.sock?db=0"),
    ],
)
def test_a_place_is_the_server_and_its_database_without_secrets(url: str, place: str) -> None:
    assert place_of(url) == place


@pytest.mark.parametrize(
    "url",
    ["", "queue:6379", "http://queue", "redis://:secret@queue:port", "redis://:secret@queue/first", "unix://"],
)
def test_what_is_no_url_of_a_redis_is_refused_with_how_to_write_one(url: str) -> None:
    with pytest.raises(UsageError, match="write redis://HOST") as refused:
        place_of(url)
    assert "secret" not in str(refused.value)
