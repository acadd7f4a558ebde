"""Metrics in the Prometheus text format.

Only this module imports the Prometheus client library. ``PublishedMetrics`` contains the values of
one instant, so that a server thread never accesses a plane.
"""

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from stretto.explain.metrics.tally import HistogramBuckets, MetricFamily, MetricKind


class PublishedMetrics(Collector):
    """The values of one instant, readable from any thread."""

    def __init__(self) -> None:
        """Start without values."""
        self._families: Sequence[MetricFamily] = ()
        #: Registry that the client library reads.
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)

    def publish(self, families: Iterable[MetricFamily]) -> None:
        """Replace the values atomically."""
        self._families = tuple(families)

    def collect(self) -> Iterator[Metric]:
        """Convert the values to the client library's types."""
        for family in self._families:
            yield _metric(family)

    def text(self) -> str:
        """Values in the Prometheus text format."""
        return generate_latest(self.registry).decode()


def text_of(families: Iterable[MetricFamily]) -> str:
    """Format metrics in the Prometheus text format."""
    published = PublishedMetrics()
    published.publish(families)
    return published.text()


def _metric(family: MetricFamily) -> Metric:
    """Convert one metric to the library's type."""
    if family.kind is MetricKind.HISTOGRAM:
        histogram = HistogramMetricFamily(family.name, family.help, labels=family.labels)
        for labels, buckets in sorted(family.buckets.items()):
            histogram.add_metric(labels, _cumulated(buckets), buckets.total)
        return histogram
    form = CounterMetricFamily if family.kind is MetricKind.COUNTER else GaugeMetricFamily
    plain = form(family.name, family.help, labels=family.labels)
    for labels, value in sorted(family.values.items()):
        plain.add_metric(labels, value)
    return plain


def _cumulated(buckets: HistogramBuckets) -> list[tuple[str, float]]:
    """Upper bounds with cumulative counts."""
    counts = buckets.counts.cumsum().tolist()
    bounds = [f"{bound:.6g}" for bound in buckets.bounds]
    return [*zip(bounds, counts[:-1], strict=True), ("+Inf", counts[-1])]
