"""Counters and histograms that are updated in batches, and metric families for any output format.

The scheduling loop adds whole arrays. Gauges are computed only when metrics are read. A family is
one metric with all its label values.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

DURATIONS: Final = tuple(0.001 * 2.0**power for power in range(15))
"""Histogram bounds for durations in seconds, as in kube-scheduler: 1 ms to 16 s."""
WAITS: Final = tuple(0.01 * 2.0**power for power in range(20))
"""Histogram bounds for waits in seconds, as in kube-scheduler: 10 ms to 87 minutes."""
COUNTS: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Histogram bounds for attempts, as in kube-scheduler."""
VICTIMS: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Histogram bounds for numbers of victims, as in kube-scheduler."""


class MetricKind(Enum):
    """Type of a metric."""

    #: Monotonically increasing.
    COUNTER = "counter"
    #: A value that can rise and fall.
    GAUGE = "gauge"
    #: Counts of values by range.
    HISTOGRAM = "histogram"


Labels = tuple[str, ...]
"""Label values in the order of the label names."""
Key = TypeVar("Key", bound=Labels)


class HistogramBuckets(NamedTuple):
    """Histogram values for one set of label values."""

    #: Upper bounds; one more range extends to infinity.
    bounds: Sequence[float]
    #: int64[range]: number of values in each range; the last range extends to infinity.
    counts: npt.NDArray[np.int64]
    #: Sum of all values.
    total: float


class MetricFamily(NamedTuple):
    """One metric with all its label values."""

    #: Name of the metric; a counter's name is without ``_total``.
    name: str
    #: Type of the metric.
    kind: MetricKind
    #: Help text.
    help: str
    #: Label names.
    labels: tuple[str, ...]
    #: Values by label values.
    values: Mapping[Labels, float] = {}
    #: Histograms by label values.
    buckets: Mapping[Labels, HistogramBuckets] = {}


class CounterMetric:
    """A counter with labels."""

    def __init__(self, name: str, help_text: str, *labels: str) -> None:
        """Start empty."""
        self._head = (name, MetricKind.COUNTER, help_text, labels)
        #: Values by label values.
        self.values: Counter[Labels] = Counter()

    def add(self, count: float, *labels: str) -> None:
        """Increase the counter."""
        if count:
            self.values[labels] += count  # type: ignore[assignment]  # counts may be fractions

    def family(self) -> MetricFamily:
        """Current values as a family."""
        return MetricFamily(*self._head, values=dict(self.values))


class HistogramMetric:
    """A histogram with labels, updated with arrays."""

    def __init__(
        self, name: str, help_text: str, bounds: Iterable[float], labels: tuple[str, ...] = ()
    ) -> None:
        """Start empty."""
        self._head = (name, MetricKind.HISTOGRAM, help_text, labels)
        self._bounds = np.array(tuple(bounds), np.float64)
        self._counts: dict[Labels, npt.NDArray[np.int64]] = {}
        self._totals: dict[Labels, float] = {}

    def add(self, values: npt.NDArray[np.float64], *labels: str) -> None:
        """Add many values."""
        if len(values):
            places = np.searchsorted(self._bounds, values, side="left")
            self._of(labels)[:] += np.bincount(places, minlength=len(self._bounds) + 1)
            self._totals[labels] += float(values.sum())

    def add_same(self, value: float, times: int, *labels: str) -> None:
        """Add one value many times."""
        if times:
            self._of(labels)[int(np.searchsorted(self._bounds, value, side="left"))] += times
            self._totals[labels] += value * times

    def _of(self, labels: Labels) -> npt.NDArray[np.int64]:
        if labels not in self._counts:
            self._counts[labels] = np.zeros(len(self._bounds) + 1, np.int64)
            self._totals[labels] = 0.0
        return self._counts[labels]

    def family(self) -> MetricFamily:
        """Current values as a family."""
        bounds = self._bounds.tolist()
        return MetricFamily(
            *self._head,
            buckets={
                labels: HistogramBuckets(bounds, counts.copy(), self._totals[labels])
                for labels, counts in self._counts.items()
            },
        )


def gauge(
    name: str, help_text: str, labels: tuple[str, ...], values: Mapping[Key, float]
) -> MetricFamily:
    """Build a family of current values."""
    return MetricFamily(name, MetricKind.GAUGE, help_text, labels, values=dict(values.items()))
