"""The scale of workloads of any kind, as an autoscaler reads and writes it."""

from dataclasses import dataclass
from typing import Protocol

from stretto.api.types.capacity.autoscaling import ScaleTargetRef
from stretto.base.errors import StrettoError
from stretto.capacity.autoscaling.pods import PodMetricsSource


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


@dataclass(frozen=True)
class AutoscalerPorts:
    """What an autoscaler reads and writes besides objects."""

    #: Metrics of pods.
    metrics: PodMetricsSource
    #: Scales of workloads.
    scales: Scales
