"""compose.yaml and the Dockerfile, as far as they can be read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from nonoka.adapters.brokers.redis.place import place_of

ROOT = Path(__file__).parents[2]
OURS = ["worker", "sweeper"]


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    return found


def test_redis_keeps_what_it_is_given_and_only_workers_reach_it(services: dict[str, Any]) -> None:
    redis = services["redis"]
    command = " ".join(redis["command"])
    assert "--appendonly yes" in command
    assert "--maxmemory-policy noeviction" in command
    assert "ports" not in redis
    assert "network_mode" not in redis


@pytest.mark.parametrize("name", OURS)
def test_our_services_share_one_store_and_one_queue(services: dict[str, Any], name: str) -> None:
    service = services[name]
    assert service["volumes"] == ["project:/project"]
    assert service["environment"]["NONOKA_DB"].startswith("/project/")
    assert place_of(service["environment"]["NONOKA_REDIS_URL"]) == "redis://redis:6379/0"
    assert service["depends_on"]["redis"]["condition"] == "service_healthy"


def test_the_worker_can_be_scaled(services: dict[str, Any]) -> None:
    assert "container_name" not in services["worker"]
    assert "ports" not in services["worker"]


def test_commands_are_executed_without_a_shell_and_every_service_is_watched(services: dict[str, Any]) -> None:
    for service in services.values():
        assert isinstance(service["command"], list)
        assert service["healthcheck"]["test"][0] == "CMD"


def test_the_image_runs_as_somebody_who_is_not_root() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    [user] = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert user not in ("root", "0")
    [command] = [re.sub(r"^CMD ", "", line) for line in lines if line.startswith("CMD ")]
    assert json.loads(command) == ["nonoka", "worker"]
    assert lines.index(f"USER {user}") < lines.index(f"CMD {command}")
