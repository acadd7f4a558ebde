"""The measurements that evaluations read, shared by the objects of a namespace."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from stretto.api.types.capacity.metrics import PodMetrics
from stretto.base.clock import Clock
from stretto.capacity.vertical.history import VerticalConfig
from stretto.reconcile.scales import PodMetricsSource

DEFAULT_RECOMMENDER: Final = "default"
"""Name of the recommender of objects that name none."""

SHARED_S: Final = 5.0
"""Seconds for which the objects of a namespace share the metrics of its pods."""


class VerticalSource(NamedTuple):
    """Source of measurements, and the objects that are evaluated with them."""

    #: Metrics of pods.
    metrics: PodMetricsSource
    #: Name in ``spec.recommenders`` of the objects that are evaluated.
    recommender: str = DEFAULT_RECOMMENDER
    #: Parameters of histories and recommendations.
    config: VerticalConfig = VerticalConfig()


class _NamespaceMetrics(NamedTuple):
    """Metrics of the pods of a namespace."""

    #: Monotonic time of the read, in seconds.
    at: float
    #: Metrics by name of the pod.
    pods: Mapping[str, PodMetrics]


class SharedMetrics:
    """Metrics of pods, read once for all objects that are evaluated at about the same time."""

    def __init__(self, metrics: PodMetricsSource, clock: Clock) -> None:
        """Start without metrics.

        Args:
            metrics: source of the metrics.
            clock: monotonic time.
        """
        self._metrics = metrics
        self._clock = clock
        self._read: dict[str, _NamespaceMetrics] = {}

    def pods(self, namespace: str) -> Mapping[str, PodMetrics]:
        """Return the metrics of the pods of a namespace by name, read at most every few seconds.

        Raises:
            RetryError: the metrics are not available yet.
            StrettoError: the metrics cannot be read.
        """
        now = self._clock.monotonic()
        known = self._read.get(namespace)
        if known is not None and now - known.at < SHARED_S:
            return known.pods
        found = self._metrics.pods(namespace)
        kept = {name: each for name, each in self._read.items() if now - each.at < SHARED_S}
        read = _NamespaceMetrics(now, {each.metadata.name: each for each in found})
        self._read = {**kept, namespace: read}
        return read.pods
