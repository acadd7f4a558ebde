"""Metrics in the text form that monitoring systems read, by the Prometheus client library.

The library is imported here and nowhere else. ``PublishedMetrics`` holds the figures of one moment,
so that whoever serves them from another thread never touches a plane.
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
    """The figures of one moment, to be read by anybody at any time."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._families: Sequence[MetricFamily] = ()
        #: What the client library reads from.
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)

    def publish(self, families: Iterable[MetricFamily]) -> None:
        """Put the figures of now in place of those before, at once."""
        self._families = tuple(families)

    def collect(self) -> Iterator[Metric]:
        """The figures as the client library wants them."""
        for family in self._families:
            yield _metric(family)

    def text(self) -> str:
        """The figures as text."""
        return generate_latest(self.registry).decode()


def text_of(families: Iterable[MetricFamily]) -> str:
    """Some figures as text."""
    published = PublishedMetrics()
    published.publish(families)
    return published.text()


def _metric(family: MetricFamily) -> Metric:
    """One metric in the library's form."""
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
    """Upper bounds with how many values lie below each."""
    counts = buckets.counts.cumsum().tolist()
    bounds = [f"{bound:.6g}" for bound in buckets.bounds]
    return [*zip(bounds, counts[:-1], strict=True), ("+Inf", counts[-1])]
