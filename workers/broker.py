"""Builds a worker process's broker. The only place that makes one the global broker is main.py."""

from __future__ import annotations

from dramatiq.middleware import AsyncIO

from nonoka.adapters.brokers.in_process import InProcessBroker
from nonoka.app import Wrap
from nonoka.settings import Settings
from workers.actors import declare_actors
from workers.middleware import WorkerLife


def worker_broker(settings: Settings, *, wrap: Wrap | None = None) -> tuple[InProcessBroker, WorkerLife]:
    """A broker with the actors on it, and the life that begins with the Dramatiq worker over it."""
    life = WorkerLife(settings, wrap=wrap)
    # The order matters: before_* run in it, after_* in reverse, and WorkerLife needs AsyncIO's loop in both.
    broker = InProcessBroker([AsyncIO(), life])
    declare_actors(broker, life)
    return broker, life
