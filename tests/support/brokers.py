"""Projects on each of the brokers, for what must hold on both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.project import Project
from tests.support.redis_server import RedisServer

BROKERS = ("in-process", "redis")


@contextmanager
def project_on(broker: str, directory: Path) -> Iterator[Project]:
    """A project whose workers share this broker; a Redis of its own where it is that."""
    if broker == "in-process":
        yield Project(directory / "project", environ={})
        return
    with RedisServer(directory / "redis") as server:
        yield Project(directory / "project", environ={"NONOKA_REDIS_URL": server.url})
