"""A Redis that is reached by TLS, as a user whose rights are limited."""

from __future__ import annotations

from pathlib import Path

from tests.support.project import PLAIN, Project
from tests.support.redis_server import RedisServer
from tests.support.tls_front import CERTIFICATE, tls_front

QUICK: list[dict[str, object]] = [{"tool_calls": [{"name": "pay", "args": {"amount": 1}}]}, {"text": "done"}]


async def test_a_worker_reaches_redis_by_tls_as_an_acl_user(tmp_path: Path) -> None:
    """One URL says it all: TLS, whom to trust, user and password. The messages go that way."""
    with RedisServer(tmp_path / "redis") as server:
        server.client.acl_setuser(
            "nonoka",
            enabled=True,
            passwords=["+right"],
            categories=["+@all", "-@admin", "-@dangerous"],
            keys=["nonoka:*"],
        )
        async with tls_front(server.port) as port:
            url = f"rediss://nonoka:right@127.0.0.1:{port}/0?ssl_ca_certs={CERTIFICATE}"
            project = Project(tmp_path / "project", environ={"NONOKA_REDIS_URL": url})
            await project.create(QUICK)
            with project.worker(PLAIN):
                await project.all_completed()
            assert server.client.info("commandstats").get("cmdstat_rpush", {}).get("calls", 0) > 0
    assert "redis_away" not in project.log.read_text()


async def test_a_redis_whose_certificate_nobody_vouches_for_is_not_talked_to(tmp_path: Path) -> None:
    """The worker says why, and takes its tasks from the store."""
    with RedisServer(tmp_path / "redis") as server:
        async with tls_front(server.port) as port:
            url = f"rediss://127.0.0.1:{port}/0"
            project = Project(tmp_path / "project", environ={"NONOKA_REDIS_URL": url})
            await project.create(QUICK)
            with project.worker(PLAIN):
                await project.all_completed()
        assert server.client.keys() == []
    assert "CERTIFICATE_VERIFY_FAILED" in project.log.read_text()
