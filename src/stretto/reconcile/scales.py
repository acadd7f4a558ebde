"""Inputs and outputs of an autoscaler: scales of workloads, their pods and the pods' metrics.

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
    """The scale of a workload cannot be read or written."""


@dataclass(frozen=True)
class WorkloadScale:
    """The scale of a workload."""

    #: Desired number of replicas.
    replicas: int
    #: Label selector of its pods, as text; empty if there is none.
    selector: str


class Scales(Protocol):
    """Reader and writer of the scales of workloads."""

    def read(self, namespace: str, target: ScaleTargetRef) -> WorkloadScale:
        """Return the scale of a workload.

        Raises:
            NoScaleError: the workload does not exist, or its kind has no scale.
        """
        ...

    def write(self, namespace: str, target: ScaleTargetRef, replicas: int) -> None:
        """Set the replicas of a workload.

        Raises:
            NoScaleError: the change is refused.
        """
        ...


class NamedPod(NamedTuple):
    """A pod under a name that is unique among the pods of its namespace."""

    #: The name; the metrics of the pod have the same name.
    name: str
    #: The pod.
    pod: StoredObject


class PodSource(Protocol):
    """Source of the pods of a namespace."""

    def pods(self, namespace: str) -> Sequence[NamedPod]:
        """Return the pods of a namespace."""
        ...


class PodMetricsSource(Protocol):
    """Source of the metrics of pods."""

    def pods(self, namespace: str) -> Sequence[PodMetrics]:
        """Return the metrics of the running pods of a namespace.

        Raises:
            RetryError: the metrics are not available yet.
            StrettoError: the cluster serves no metrics, or does not allow to read them.
        """
        ...


class CachedPods:
    """The pods of one cluster."""

    def __init__(self, cluster: StoreCache) -> None:
        """Follow the pods of a cluster."""
        self._pods = cluster.follow(POD)

    def pods(self, namespace: str) -> Sequence[NamedPod]:
        """Return the pods of a namespace, under their own names."""
        return [NamedPod(each.record.name, each) for each in self._pods.in_namespace(namespace)]


@dataclass(frozen=True)
class AutoscalerPorts:
    """Sources and sinks of an autoscaler besides its own objects."""

    #: Pods of workloads.
    pods: PodSource
    #: Metrics of pods.
    metrics: PodMetricsSource
    #: Scales of workloads.
    scales: Scales
    #: Returns whether an autoscaler object is evaluated; other objects are ignored.
    covers: Callable[[StoredObject], bool] = lambda _: True
