"""Counters and histograms that take whole batches: figures for a monitoring system, without pods.

What is counted in the loop is added as arrays; what is only looked at is counted when somebody
looks. A family is one metric with all its label values, ready to be written in any form.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

DURATIONS: Final = tuple(0.001 * 2.0**power for power in range(15))
"""Upper bounds of durations in seconds: kube-scheduler's, 1 ms to 16 s."""
WAITS: Final = tuple(0.01 * 2.0**power for power in range(20))
"""Upper bounds of waits in seconds: kube-scheduler's, 10 ms to 87 minutes."""
COUNTS: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Upper bounds of small counts: kube-scheduler's for attempts."""
VICTIMS: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Upper bounds of the number of victims: kube-scheduler's."""


class MetricKind(Enum):
    """What sort of figure a metric is."""

    #: Only rises.
    COUNTER = "counter"
    #: Is what it is now.
    GAUGE = "gauge"
    #: How often a value fell into which range.
    HISTOGRAM = "histogram"


Labels = tuple[str, ...]
"""The values of a metric's labels, in their order."""
Key = TypeVar("Key", bound=Labels)


class HistogramBuckets(NamedTuple):
    """A histogram's figures for one set of label values."""

    #: Upper bounds; one more range reaches to infinity.
    bounds: Sequence[float]
    #: int64[range]: values in each range, the last reaching to infinity.
    counts: npt.NDArray[np.int64]
    #: Sum of all values.
    total: float


class MetricFamily(NamedTuple):
    """One metric with all its label values."""

    #: Its name, counters without ``_total``.
    name: str
    #: What sort of figure it is.
    kind: MetricKind
    #: What it says.
    help: str
    #: Names of its labels.
    labels: tuple[str, ...]
    #: Plain figures by label values.
    values: Mapping[Labels, float] = {}
    #: Histograms by label values.
    buckets: Mapping[Labels, HistogramBuckets] = {}


class CounterMetric:
    """A counter with labels."""

    def __init__(self, name: str, help_text: str, *labels: str) -> None:
        """Start at nothing."""
        self._head = (name, MetricKind.COUNTER, help_text, labels)
        #: Figures by label values.
        self.values: Counter[Labels] = Counter()

    def add(self, count: float, *labels: str) -> None:
        """Count more."""
        if count:
            self.values[labels] += count  # type: ignore[assignment]  # counts may be fractions

    def family(self) -> MetricFamily:
        """The figures as they stand."""
        return MetricFamily(*self._head, values=dict(self.values))


class HistogramMetric:
    """A histogram with labels, fed with arrays."""

    def __init__(
        self, name: str, help_text: str, bounds: Iterable[float], labels: tuple[str, ...] = ()
    ) -> None:
        """Start at nothing."""
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
        """The figures as they stand."""
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
    """Figures that are looked at now."""
    return MetricFamily(name, MetricKind.GAUGE, help_text, labels, values=dict(values.items()))
