"""Wires nonoka together: the one place that picks adapters. Names load on first use: to look at the store takes
no engine, and half the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nonoka.app.brokers import broker_name
    from nonoka.app.models import model_catalog
    from nonoka.app.opening import Wrap, open_ports
    from nonoka.app.plan_requests import plan_request_for
    from nonoka.app.requests import request_for
    from nonoka.app.stores import back_up_store, check_store, open_store, store_condition, store_exists
    from nonoka.app.working import WorkerParts, as_worker

_HOMES = {
    "WorkerParts": "working",
    "Wrap": "opening",
    "as_worker": "working",
    "back_up_store": "stores",
    "broker_name": "brokers",
    "check_store": "stores",
    "model_catalog": "models",
    "open_ports": "opening",
    "open_store": "stores",
    "plan_request_for": "plan_requests",
    "request_for": "requests",
    "store_condition": "stores",
    "store_exists": "stores",
}

__all__ = [
    "WorkerParts",
    "Wrap",
    "as_worker",
    "back_up_store",
    "broker_name",
    "check_store",
    "model_catalog",
    "open_ports",
    "open_store",
    "plan_request_for",
    "request_for",
    "store_condition",
    "store_exists",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'nonoka.app' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  on first use, as said above

    return getattr(import_module(f"nonoka.app.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
