"""What the process counts about its requests, in the format of Prometheus.

Several processes on one port share their counts through the folder PROMETHEUS_MULTIPROC_DIR, a variable of the
prometheus-client package itself; without it every process answers for itself.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


class Metrics:
    """Counts requests by route template, method and status, and measures how long they took."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ("route", "method")
        self._requests = Counter(
            "cairn_http_requests", "Requests answered.", (*labels, "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "cairn_http_request_seconds", "Time until the answer.", labels, registry=self._registry, buckets=_BUCKETS
        )
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request. route: its template, so that ids make no series of their own."""
        key = (route, method, status)
        children = self._children.get(key)
        if children is None:
            shown = method if method in _METHODS else "other"
            children = self._requests.labels(route, shown, str(status)), self._seconds.labels(route, shown)
            self._children[key] = children
        children[0].inc()
        children[1].observe(seconds)

    def exposition(self, jobs: Sequence[tuple[str, str, int]] | None) -> bytes:
        """Return the page. jobs: kind, state and number of unfinished jobs; None when the database does not answer."""
        counts = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            counts = CollectorRegistry()
            MultiProcessCollector(counts)  # type: ignore[no-untyped-call]
        now = CollectorRegistry()
        now.register(_Queue(jobs))
        return generate_latest(counts) + generate_latest(now)


class _Queue(Collector):
    def __init__(self, jobs: Sequence[tuple[str, str, int]] | None) -> None:
        self._jobs = jobs

    def collect(self) -> Iterable[GaugeMetricFamily]:
        up = GaugeMetricFamily("cairn_database_up", "Whether the database answered this scrape.")
        up.add_metric((), float(self._jobs is not None))
        yield up
        queue = GaugeMetricFamily("cairn_jobs", "Unfinished jobs of all tenants.", labels=("kind", "state"))
        for kind, state, number in self._jobs or ():
            queue.add_metric((kind, state), number)
        yield queue
