"""What an autoscaler reads and writes: the scale of a workload, its pods and what they use.

The pods run in the cluster of the autoscaler, or in the members of a federation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from stretto.api.types.capacity.autoscaling import ScaleTargetRef
from stretto.api.types.capacity.metrics import PodMetrics
from stretto.api.wire.kinds import POD
from stretto.base.errors import StrettoError
from stretto.reconcile.cache import StoreCache, StoredObject


class NoScaleError(StrettoError):
    """A workload whose scale cannot be read or written."""


@dataclass(frozen=True)
class WorkloadScale:
    """The scale of a workload."""

    #: Replicas that it should have.
    replicas: int
    #: Label selector of its pods, as text; empty without one.
    selector: str


class Scales(Protocol):
    """Reads and writes scales."""

    def read(self, namespace: str, target: ScaleTargetRef) -> WorkloadScale:
        """The scale of a workload.

        Raises:
            NoScaleError: it does not exist, or its kind has no scale.
        """
        ...

    def write(self, namespace: str, target: ScaleTargetRef, replicas: int) -> None:
        """Scale a workload.

        Raises:
            NoScaleError: the change is refused.
        """
        ...


class NamedPod(NamedTuple):
    """A pod under a name that is unique among the pods of its namespace."""

    #: The name; metrics of the pod have the same.
    name: str
    #: The pod.
    pod: StoredObject


class PodSource(Protocol):
    """Finds pods."""

    def pods(self, namespace: str) -> Sequence[NamedPod]:
        """The pods of a namespace."""
        ...


class PodMetricsSource(Protocol):
    """Measures pods."""

    def pods(self, namespace: str) -> Sequence[PodMetrics]:
        """The metrics of the running pods of a namespace.

        Raises:
            RetryError: they are not known yet.
        """
        ...


class CachedPods:
    """The pods of one cluster."""

    def __init__(self, cluster: StoreCache) -> None:
        """Follow the pods of a cluster."""
        self._pods = cluster.follow(POD)

    def pods(self, namespace: str) -> Sequence[NamedPod]:
        """The pods of a namespace, under their own names."""
        return [NamedPod(each.record.name, each) for each in self._pods.in_namespace(namespace)]


@dataclass(frozen=True)
class AutoscalerPorts:
    """What an autoscaler reads and writes besides objects."""

    #: Pods of workloads.
    pods: PodSource
    #: Metrics of pods.
    metrics: PodMetricsSource
    #: Scales of workloads.
    scales: Scales
    #: Whether an autoscaler is evaluated; others are left alone.
    covers: Callable[[StoredObject], bool] = lambda _: True
