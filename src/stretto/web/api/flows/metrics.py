"""Metrics of flow control, under the names of kube-apiserver."""

from collections.abc import Iterator
from math import ceil
from typing import Final

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from stretto.web.api.flows.classification import FlowClassifier
from stretto.web.api.flows.objects import LEVEL
from stretto.web.api.storage import ObjectStorage

_PREFIX: Final = "apiserver_flowcontrol_"
_SEATS: Final = 600
"""Concurrent requests of kube-apiserver by default: 400 that read and 200 that write."""


class FlowMetrics:
    """Collector of the requests of each flow schema, and of the seats of each priority level."""

    def __init__(self, storage: ObjectStorage, flows: FlowClassifier) -> None:
        """Read the levels of a server and the numbers of its requests."""
        self._storage = storage
        self._flows = flows

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        labels = ["priority_level", "flow_schema"]
        text = "Answered requests by flow schema and priority level"
        requests = CounterMetricFamily(f"{_PREFIX}dispatched_requests", text, labels=labels)
        for (schema, level), number in self._flows.requests().items():
            requests.add_metric([level, schema], number)
        yield requests
        text = "Share of a priority level in the concurrent requests of kube-apiserver"
        seats = GaugeMetricFamily(f"{_PREFIX}nominal_limit_seats", text, labels=labels[:1])
        shares = self._shares()
        for level, each in shares.items():
            seats.add_metric([level], ceil(_SEATS * each / max(sum(shares.values()), 1)))
        yield seats

    def _shares(self) -> dict[str, int]:
        """Return the shares of the levels."""
        found = {}
        for item in self._storage.views_of(LEVEL):
            spec = item["spec"]
            part = spec.get("limited") or spec.get("exempt") or {}
            found[item["metadata"]["name"]] = part.get("nominalConcurrencyShares") or 0
        return found
