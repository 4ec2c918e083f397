"""What ``nonoka worker --metrics`` serves: the supervisor's view of its processes and of the store.

Counters and histograms come from the worker processes through one pipe and live here, so that they outlast each of
them; gauges are asked of the store at each scrape. Loaded with ``--metrics`` only.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from nonoka.app import open_store
from nonoka.errors import NonokaError, UsageError
from nonoka.records.workload import Workload
from nonoka.settings import Settings
from workers.facts import Fact, read_facts

#: From a call that does nothing to a turn that waits for a slow model; in seconds.
_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Address(NamedTuple):
    """Where the metrics are served; port 0 is any free one."""

    host: str
    port: int


class Metrics:
    """The metrics of one supervisor. ``worker_fd`` is what its processes write into."""

    def __init__(self, workload: Callable[[], Workload | None]) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(_StoreGauges(workload))
        self._counters = {
            "claim": self._counter("claims", "Tasks that were claimed."),
            "retry": self._counter("retries", "Attempts that failed in a way that may pass."),
            "death": self._counter("deaths", "Claims whose worker died or froze."),
            "recovery": self._counter("recoveries", "Claims of the dead that were settled and go on."),
        }
        self._durations = {
            "task": self._histogram(
                "task_duration_seconds", "From a task's claim to the commit that ends it.", "kind"
            ),
            "call": self._histogram("call_duration_seconds", "How long calls ran that ran to their end.", "tool"),
        }
        self._exits = self._counter("process_exits", "Worker processes that ended without being told to.")
        self._read_fd, self.worker_fd = os.pipe()

    def serve(self, address: Address) -> str:
        """Scrapes are answered from now on; returns the URL. Raises UsageError where the address can't be had."""
        try:
            server, _ = start_http_server(address.port, address.host, self.registry)
        except OSError as error:
            raise UsageError(
                f"the metrics can't be served on {address.host} port {address.port}: {error.strerror}; "
                "give --metrics another port"
            ) from None
        reading = (self._read_fd, self.note)
        threading.Thread(target=read_facts, args=reading, name="facts", daemon=True).start()
        host = f"[{address.host}]" if ":" in address.host else address.host
        return f"http://{host}:{server.server_port}/metrics"

    def note(self, fact: Fact) -> None:
        """The fact is counted."""
        if fact.what in self._counters:
            self._counters[fact.what].inc()
        else:
            self._durations[fact.what].labels(fact.of).observe(fact.ms / 1000)

    def process_ended(self) -> None:
        """A worker process has ended by itself, or was killed."""
        self._exits.inc()

    def _counter(self, name: str, what: str) -> Counter:
        return Counter(f"nonoka_{name}", what, registry=self.registry)

    def _histogram(self, name: str, what: str, label: str) -> Histogram:
        return Histogram(f"nonoka_{name}", what, [label], buckets=_BUCKETS, registry=self.registry)


class _StoreGauges(Collector):
    """What the store says at the moment of the scrape; of one that can't be read, that alone."""

    def __init__(self, workload: Callable[[], Workload | None]) -> None:
        self._workload = workload

    def collect(self) -> Iterable[Metric]:
        """The gauges."""
        found = self._workload()
        what = "1 where the store could be read for this scrape, else 0."
        yield GaugeMetricFamily("nonoka_store_readable", what, float(found is not None))
        if found is None:
            return
        tasks = GaugeMetricFamily("nonoka_tasks", "Live tasks of the store.", labels=["state"])
        for state in ("ready", "delayed", "running", "waiting"):
            tasks.add_metric([state], getattr(found, state))
        yield tasks
        what = "For how long the longest due task has been ready; 0 where none is."
        yield GaugeMetricFamily("nonoka_oldest_ready_seconds", what, found.oldest_ready_ms / 1000)


def workload_of(settings: Settings) -> Workload | None:
    """The workload of the store of these settings now; None where it can't be read. Blocks."""
    try:
        return asyncio.run(_read(settings))
    except NonokaError:
        return None


async def _read(settings: Settings) -> Workload:
    # Opened for each scrape, so that nothing is held that could be replaced or removed meanwhile.
    async with open_store(settings) as (store, _):
        return await store.workload()
